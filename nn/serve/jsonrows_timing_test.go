package serve

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
)

// BenchmarkJSONRows makes feeds of a request of 100 rows with 13 numbers and 26 ids each.
func BenchmarkJSONRows(b *testing.B) {
	format := jsonFormat{dataset.Floats("dense_input", 13), dataset.Ints("C", 26)}
	var text bytes.Buffer
	for i := range 100 {
		fmt.Fprintf(&text, `%c{"dense_input": [0.5`, ",["[min(1, 1-min(i, 1))])
		for j := range 12 {
			fmt.Fprintf(&text, ", %d.%d", j, i)
		}
		fmt.Fprintf(&text, `], "C": [%d`, i)
		for j := range 25 {
			fmt.Fprintf(&text, ", %d", i*7919+j*104729)
		}
		text.WriteString("]}\n")
	}
	text.WriteByte(']')
	d, err := dataset.NewDecoder(format)
	law.Check(b, err)
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		lines, err := jsonLines(text.Bytes())
		law.Check(b, err)
		if _, err := d.Decode(lines); err != nil {
			b.Fatal(err)
		}
	}
}
