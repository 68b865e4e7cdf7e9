package weights

import (
	"bytes"
	"os"
	"testing"
)

// Promise: [G7] no embeddings in files of other programs panic their reader, or make it allocate more than its bound
// Also: FuzzNPY, FuzzWord2Vec, FuzzText
func FuzzNPZ(f *testing.F) { fuzzFile(f, "a.npz", "stored.npz", "packed.npz") }

func FuzzONNX(f *testing.F) { fuzzFile(f, "a.onnx", "typed.onnx", "external.onnx") }

func FuzzNPY(f *testing.F) { fuzzFile(f, "a.npy", "f4.npy", "f8.npy", "v2.npy", "struct.npy") }

// fuzzFile reads all that files of a kind claim to have.
func fuzzFile(f *testing.F, name string, seeds ...string) {
	for _, file := range seeds {
		data, err := os.ReadFile("testdata/" + file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := openStreams(bytes.NewReader(data), int64(len(data)), name)
		if err != nil {
			return
		}
		a := arrays{streams: in}
		for _, name := range a.names() {
			v, err := a.array(name)
			if len(v.Values) > 300*len(data) {
				t.Errorf("%d bytes are %d numbers", len(data), len(v.Values)) // deflate makes at most 1032 bytes of one
			}
			rows := 0
			again := a.rows(name, func(uint64, []float32) error { rows++; return nil })
			if err == nil && again == nil && rows != v.Shape[0] {
				t.Errorf("%q of %q has shape %v and %d rows", name, data, v.Shape, rows)
			}
		}
	})
}
