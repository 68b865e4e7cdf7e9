package dataset

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

const big, biggest = 1 << 63, math.MaxUint64

// idRows are the ids of column x, one a row, of all batches.
func idRows(t *testing.T, d *Dataset) (ids []uint64) {
	t.Helper()
	for batch, err := range d.Batches(2) {
		law.Check(t, err)
		ids = append(ids, batch["x"].Data().([]uint64)...)
	}
	return ids
}

// TestIDsOfEveryFormat: ids up to 2⁶⁴−1 come from every format, function and generator as they stand there.
//
// Promise: [G9] ids of 64 bits come from files to tables, checkpoints and models as they are
// Also: TestIDsThroughEveryCombinator, TestIDsRefused, TestWideIDs (nn), TestWideIDsRefused (nn), TestIDsOfAllBits
// (fleet)
func TestIDsOfEveryFormat(t *testing.T) {
	want := []uint64{1, big, biggest}
	slots := []SlotColumn{{Column: IDs("x")}}
	read := func(f Format, text string) *Dataset { return FromReader(strings.NewReader(text), "text", f) }
	var made strings.Builder
	g := MultiSlotDataGenerator{Generate: func(line string, emit func(...Slot) error) error {
		return errors.Join(emit(Slot{Name: "x", IDs: []uint64{1}}), emit(Slot{Name: "x", IDs: []uint64{big}}), emit(Slot{Name: "x", IDs: []uint64{biggest}}))
	}}
	law.Check(t, g.Run(strings.NewReader("a\n"), &made))
	table, err := NewTable(IDs("x"))
	law.Check(t, err)
	for _, id := range want {
		law.Check(t, table.Add(func(row Row) error { row.IDs(0)[0] = id; return nil }))
	}
	if !slices.Equal(table.IDs(0), want) || table.Ints(0) != nil || table.Floats(0) != nil {
		t.Errorf("the table has %v", table.IDs(0))
	}
	for name, d := range map[string]*Dataset{
		"slot text":         read(SlotText{Slots: slots}, "x:1\nx:9223372036854775808\nx:18446744073709551615\n"),
		"padded":            read(SlotText{Slots: append(slots, SlotColumn{Column: Varying(IDs("y"))}), Pad: true}, "x:+1\nx:9223372036854775808 y:5\nx:18446744073709551615\n"),
		"multi-slot":        read(MultiSlot{Slots: slots}, "1 1\n1 9223372036854775808\n1 18446744073709551615\n"),
		"varying":           read(MultiSlot{Slots: []SlotColumn{{Column: Varying(IDs("x"))}}}, "2 1 9223372036854775808\n1 18446744073709551615\n"),
		"csv":               read(CSV{Schema: []CSVColumn{{Column: IDs("x"), Missing: "18446744073709551615"}}}, "x\n1\n9223372036854775808\n\"\"\n"),
		"json lines":        read(JSONLines{Schema: []CSVColumn{{Column: IDs("x")}}}, "{\"x\":1}\n{\"x\":\"9223372036854775808\"}\n{\"x\":18446744073709551615}\n"),
		"a generator":       read(MultiSlot{Slots: slots}, made.String()),
		"a table":           FromTable(table),
		"columns in memory": FromColumns(IDValues("x", want)),
		"a function":        Generate(3, func(i int, row Row) error { row.IDs(0)[0] = want[i]; return nil }, IDs("x")),
	} {
		loaded, err := d.Load(t.Context())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := idRows(t, loaded); !slices.Equal(got, want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := idRows(t, read(CSV{Fields: []string{"x"}, Schema: []CSVColumn{{Column: IDs("x"), Hash: 100}}}, "ann\n")); got[0] != uint64(HashID("x", "ann", 100)) {
		t.Errorf("hashed: %v", got)
	}
}

// TestIDsThroughEveryCombinator: what is done to rows keeps ids as they are, in memory, streaming and between workers.
func TestIDsThroughEveryCombinator(t *testing.T) {
	want := make([]uint64, 40)
	for i := range want {
		want[i] = biggest - uint64(i)*(1<<57)
	}
	rows := FromColumns(IDValues("x", want), IntValues("n", make([]int64, 40)))
	sorted := slices.Sorted(slices.Values(want))
	first, second := rows.Split(0.5, 1)
	for name, got := range map[string][]uint64{
		"shuffled": idRows(t, rows.Shuffle(1)), "in windows": idRows(t, streamed(rows).ShuffleWindow(7, 1)), "ahead": idRows(t, rows.Prefetch(2)),
		"split":  append(idRows(t, first), idRows(t, second)...),
		"shards": append(idRows(t, streamed(rows).Shard(0, 2)), idRows(t, streamed(rows).Shard(1, 2))...),
		"cut":    append(idRows(t, rows.Take(7)), idRows(t, rows.Skip(7))...),
	} {
		if slices.Sort(got); !slices.Equal(got, sorted) {
			t.Errorf("%s: %v", name, got)
		}
	}
	var text strings.Builder
	for _, id := range want {
		text.WriteString("x:" + tensorText(id) + "\n")
	}
	files := onDisk(t, text.String(), "x:9223372036854775808\n")
	got := slices.Concat(newCrowd(2).shuffled(t, 1, SlotText{Slots: []SlotColumn{{Column: IDs("x")}}}, func(d *InMemoryDataset, m member) error {
		d.SetFileList(files[m.index])
		return d.LoadIntoMemory(t.Context())
	})...)
	if len(got) != 41 || !slices.Contains(got, "x[9223372036854775808]") || !slices.Contains(got, "x[18446744073709551615]") {
		t.Errorf("exchanged: %v", got)
	}
}

func tensorText(id uint64) string {
	return strings.Trim(rowText(Batch{"": tensor.New(tensor.WithBacking([]uint64{id}))}), "[]")
}

// TestIDsRefused: what is no id is refused, and a column of Ints says what takes ids that it can't.
func TestIDsRefused(t *testing.T) {
	for _, c := range []struct {
		column Column
		text   string
		want   string
	}{
		{IDs("x"), "-1", "want an id, from 0 to 18446744073709551615"},
		{IDs("x"), "18446744073709551616", "want an id"},
		{IDs("x"), "1.5", "want an id"},
		{IDs("x"), "-0", "want an id"},
		{Ints("x"), "9223372036854775808", "want an integer in the range of int64, below 9223372036854775808 (a column made with dataset.IDs takes larger ids)"},
		{Ints("x"), "18446744073709551616", "want an integer in the range of int64, from -9223372036854775808 to 9223372036854775807, got"},
		{Ints("x"), "-9223372036854775809", "want an integer in the range of int64, from"},
		{Ints("x"), "z", "want an integer, got"},
	} {
		for name, f := range map[string]Format{"slot text": SlotText{Slots: []SlotColumn{{Column: c.column}}},
			"csv": CSV{Fields: []string{"x"}, Schema: []CSVColumn{{Column: c.column}}}} {
			text := c.text
			if name == "slot text" {
				text = "x:" + text
			}
			if _, err := readAll(f, text); !errors.Is(err, ErrBadLine) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s, %v, %q: %v", name, c.column.Type, c.text, err)
			}
		}
	}
	bad := CSV{Fields: []string{"x"}, Schema: []CSVColumn{{Column: IDs("x"), Missing: "-1"}}}
	if _, err := bad.Columns(); !errors.Is(err, ErrColumn) {
		t.Errorf("missing: %v", err)
	}
	mixed := FloatValues("x", []float32{1})
	mixed.Type = tensor.Uint64
	if _, err := passEnds(FromColumns(mixed).Batches(1)); !errors.Is(err, ErrNoRows) {
		t.Errorf("values of another type than their column's: %v", err)
	}
}
