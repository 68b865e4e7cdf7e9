package dataset

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// numbered is a user's format: CSV, and a column with the line's number, which its parser remembers.
type numbered struct{ CSV }

func (f numbered) Columns() ([]Column, error) {
	columns, err := f.CSV.Columns()
	return append(columns, Ints("number")), err
}

func (f numbered) NewParser() (Parser, error) {
	p, err := f.CSV.NewParser()
	return &numbering{Parser: p}, err
}

type numbering struct {
	Parser
	lines int64
}

func (p *numbering) ParseLine(line []byte, row Row) error {
	p.lines++
	row.Ints(1)[0] = p.lines
	return p.Parser.ParseLine(line, row)
}

// TestLoadOfFormatThatEmbedsOne: a user's format whose parser remembers lines is loaded by one parser, though the format
// that it embeds is loaded by several.
func TestLoadOfFormatThatEmbedsOne(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	var text strings.Builder
	const lines = 50_000
	for i := range lines {
		fmt.Fprintln(&text, i+1)
	}
	format := numbered{CSV{Fields: []string{"x"}, Schema: []CSVColumn{{Column: Ints("x")}}}}
	for _, f := range []Format{format, &format} {
		d := &InMemoryDataset{FileList: onDisk(t, text.String()), Format: f}
		law.Check(t, d.LoadIntoMemory(t.Context()))
		rows, wrong := 0, 0
		for batch, err := range d.Batches() {
			law.Check(t, err)
			numbers := batch["number"].Int64s()
			for i, x := range batch["x"].Int64s() {
				if rows++; numbers[i] != x {
					wrong++
				}
			}
		}
		if rows != lines || wrong > 0 {
			t.Errorf("%T: %d rows, want %d, and %d with the number of another line", f, rows, lines, wrong)
		}
	}
}

type (
	doublingCSV   struct{ CSV }
	doublingJSON  struct{ JSONLines }
	doublingSlots struct{ SlotText }
	doublingMulti struct{ MultiSlot }
	doubling      struct{ Parser }
)

func doubled(p Parser, err error) (Parser, error) { return doubling{p}, err }

func (f doublingCSV) NewParser() (Parser, error)   { return doubled(f.CSV.NewParser()) }
func (f doublingJSON) NewParser() (Parser, error)  { return doubled(f.JSONLines.NewParser()) }
func (f doublingSlots) NewParser() (Parser, error) { return doubled(f.SlotText.NewParser()) }
func (f doublingMulti) NewParser() (Parser, error) { return doubled(f.MultiSlot.NewParser()) }

func (p doubling) ParseLine(line []byte, row Row) error {
	err := p.Parser.ParseLine(line, row)
	row.Floats(0)[0] *= 2
	return err
}

// TestDecoderOfFormatThatEmbedsOne: a user's format that embeds one of the package parses requests too, also where not all of
// its columns are wanted.
func TestDecoderOfFormatThatEmbedsOne(t *testing.T) {
	schema := []CSVColumn{{Column: Floats("x")}, {Column: Floats("label")}}
	slots := []SlotColumn{{Column: Floats("x")}, {Column: Floats("label")}}
	for text, f := range map[string]Format{
		"2.5,1":               doublingCSV{CSV{Fields: []string{"x", "label"}, Schema: schema}},
		`{"x":2.5,"label":1}`: doublingJSON{JSONLines{Schema: schema}},
		"x:2.5 label:1":       doublingSlots{SlotText{Slots: slots}},
		"1 2.5 1 1":           &doublingMulti{MultiSlot{Slots: slots}},
	} {
		d, err := NewDecoder(f, "x")
		law.Check(t, err)
		batch, err := d.Decode([]byte(text))
		if err != nil || batch["x"].Float32s()[0] != 5 {
			t.Errorf("%T: %v, %v, want 5", f, batch, err)
		}
	}
}
