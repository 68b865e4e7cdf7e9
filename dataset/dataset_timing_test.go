package dataset

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gofleet/gofleet/internal/law"
)

// criteoText is generated lines in Criteo's form, about 250 bytes each.
func criteoText(lines int) []byte {
	random := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for range lines {
		fmt.Fprint(&b, random.IntN(2))
		for range criteoCounts {
			b.WriteByte('\t')
			if random.IntN(4) > 0 {
				fmt.Fprint(&b, random.IntN(1000))
			}
		}
		for range criteoTokens {
			fmt.Fprintf(&b, "\t%08x", random.Uint32())
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// benchRead reads text in batches of 512.
func benchRead(b *testing.B, format Format, text []byte) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		for batch, err := range FromReader(bytes.NewReader(text), "text", format).Batches(512) {
			law.Check(b, err)
			rows += batch["label"].Shape()[0]
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

func sampleText(b *testing.B, times int) []byte {
	text, err := os.ReadFile("testdata/criteo_sample_80.slots.txt")
	law.Check(b, err)
	return bytes.Repeat(text, times)
}

func BenchmarkCriteo(b *testing.B)   { benchRead(b, Criteo{}, criteoText(5000)) }
func BenchmarkSlotText(b *testing.B) { benchRead(b, CriteoSlots(), sampleText(b, 50)) }

func BenchmarkMultiSlot(b *testing.B) {
	line := "13" + strings.Repeat(" 0.00497512437811", 13) + strings.Repeat(" 1 737395", 26) + " 1 1\n"
	benchRead(b, CriteoMultiSlot(), []byte(strings.Repeat(line, 5000)))
}

// criteoTSV is Criteo's form by a schema: 13 numbers, 26 hashed tokens.
func criteoTSV() CSV {
	fields, counts, tokens := []string{"label"}, []string{}, []string{}
	for i := range criteoCounts {
		counts = append(counts, "I"+strconv.Itoa(i+1))
	}
	for i := range criteoTokens {
		tokens = append(tokens, "C"+strconv.Itoa(i+1))
	}
	return CSV{Comma: '\t', Fields: append(append(fields, counts...), tokens...), Schema: []CSVColumn{
		{Column: Floats("dense_input", criteoCounts), Fields: counts, Missing: "0"},
		{Column: Ints("C", criteoTokens), Fields: tokens, Hash: criteoHeight},
		{Column: Floats("label")},
	}}
}

func BenchmarkTSV(b *testing.B) { benchRead(b, criteoTSV(), criteoText(5000)) }

// BenchmarkLoad reads such text into memory, by one goroutine and by two.
func BenchmarkLoad(b *testing.B) {
	const rows = 40_000
	text := fstest.MapFS{"text": {Data: criteoText(rows)}}
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			b.SetBytes(int64(len(text["text"].Data)))
			for b.Loop() {
				d := New(&Files{FS: text, Paths: []string{"text"}, Format: criteoTSV(), Threads: threads})
				if _, err := d.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkJSONLines reads such rows as JSON, a field each.
func BenchmarkJSONLines(b *testing.B) {
	f := criteoTSV()
	var text bytes.Buffer
	for line := range bytes.Lines(criteoText(5000)) {
		fields := bytes.Split(bytes.TrimSpace(line), []byte{'\t'})
		for i, name := range f.Fields {
			fmt.Fprintf(&text, "%c%q:%q", ",{"[min(1, 1-min(i, 1))], name, fields[min(i, len(fields)-1)])
		}
		text.WriteString("}\n")
	}
	benchRead(b, JSONLines{Schema: f.Schema, Missing: "0"}, text.Bytes())
}

// BenchmarkLibSVM reads 40 pairs a line.
func BenchmarkLibSVM(b *testing.B) {
	var line bytes.Buffer
	line.WriteString("1")
	for i := range 40 {
		fmt.Fprintf(&line, " %d:0.%d", 3*i+1, 1234+i)
	}
	line.WriteByte('\n')
	benchRead(b, LibSVM{Features: 128}, bytes.Repeat(line.Bytes(), 5000))
}

// BenchmarkEncodingCSV splits the same lines into fields with the standard library, and does nothing with them.
func BenchmarkEncodingCSV(b *testing.B) {
	text := criteoText(5000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := csv.NewReader(bytes.NewReader(text))
		r.Comma, r.ReuseRecord = '\t', true
		for {
			if _, err := r.Read(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*5000)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkBatches shuffles rows in memory and cuts them: 13 floats, 26 ids and a label each.
func BenchmarkBatches(b *testing.B) {
	const rows = 100_000
	d := FromColumns(FloatValues("dense", make([]float32, rows*13), 13), IntValues("C", make([]int64, rows*26), 26), FloatValues("label", make([]float32, rows)))
	for _, ahead := range []int{0, 2} {
		b.Run(fmt.Sprintf("ahead=%d", ahead), func(b *testing.B) {
			for b.Loop() {
				for _, err := range d.Shuffle(1).Prefetch(ahead).Batches(512) {
					law.Check(b, err)
				}
			}
			b.ReportMetric(float64(b.N*rows)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
