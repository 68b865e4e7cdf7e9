package safetensors

import (
	"bytes"
	"io"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// piece is what a server writes at a time: 64 rows of 1024.
const piece, pieces = 1 << 16, 64

func BenchmarkPut(b *testing.B) {
	values := make([]float32, piece)
	b.SetBytes(4 * piece * pieces)
	b.ReportAllocs()
	for b.Loop() {
		w, err := NewWriter(io.Discard, []Tensor{{"w", F32, []int{pieces, piece}}}, nil)
		law.Check(b, err)
		for range pieces {
			put(b, w, "w", values)
		}
	}
}

func BenchmarkReadAt(b *testing.B) {
	f := sixteenMegabytes(b)
	values := make([]float32, piece)
	b.SetBytes(4 * piece * pieces)
	b.ReportAllocs()
	for b.Loop() {
		for i := range pieces {
			law.Check(b, ReadAt(f, "w", values, i*piece))
		}
	}
}

func sixteenMegabytes(b *testing.B) *File {
	var file bytes.Buffer
	w, err := NewWriter(&file, []Tensor{{"w", F32, []int{pieces, piece}}}, nil)
	law.Check(b, err)
	put(b, w, "w", make([]float32, piece*pieces))
	f, err := Parse(file.Bytes())
	law.Check(b, err)
	return f
}
