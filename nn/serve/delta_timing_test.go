package serve

import (
	"errors"
	"flag"
	"io"
	"runtime"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/modelfiles"
	"github.com/gofleet/gofleet/internal/safetensors"
	"github.com/gofleet/gofleet/nn"
)

var deltaRows = flag.Int("delta_rows", 1_000_000, "rows of the model of BenchmarkTakeDelta")

// writeRows writes the rows of an embedding whose ids are multiples of every, below a number, each of one value.
func writeRows(out io.Writer, name string, below, every, dim int, value float32) error {
	n := (below + every - 1) / every
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = uint64(i * every)
	}
	w, err := safetensors.NewWriter(out, []safetensors.Tensor{{Name: name + ".ids", DType: safetensors.U64, Shape: []int{n}},
		{Name: name, DType: safetensors.F32, Shape: []int{n, dim}}}, nil)
	if err != nil {
		return err
	}
	return errors.Join(safetensors.Put(w, name+".ids", ids), safetensors.Put(w, name, slices.Repeat([]float32{value}, n*dim)), w.Close())
}

// BenchmarkTakeDelta: what a scorer asks for, and takes, to have a delta of a hundredth of its rows, which lies on a disk.
//
//	go test -run - -bench TakeDelta -benchtime 10x ./nn/serve -delta_rows 10000000
func BenchmarkTakeDelta(b *testing.B) {
	const dim = 8
	g := nn.NewGraph(1)
	rows := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Name: "rows", Dim: dim}).Named("out")
	base, delta := b.TempDir(), b.TempDir()
	save := func(dir string, every int, d *modelfiles.Delta) string {
		s, err := modelfiles.Begin(dir)
		if err == nil && d != nil {
			err = s.Follow(*d)
		} else if err == nil {
			m := nn.Inference(rows)
			err = errors.Join(s.Write(modelfiles.Graph, m.WriteGraph), s.Write(modelfiles.Signature, m.WriteSignature))
		}
		if err == nil {
			err = s.Write(modelfiles.Weights, func(w io.Writer) error { return writeRows(w, "rows", *deltaRows, every, dim, float32(every)) })
		}
		if err == nil {
			err = s.Commit()
		}
		law.Check(b, err)
		return s.Version()
	}
	v := save(base, 1, nil)
	save(delta, 100, &modelfiles.Delta{Base: v, Follows: v, Number: 1})
	m, err := Load(base)
	law.Check(b, err)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	for range b.N {
		s, err := NewScorer(m, ScorerOptions{})
		if err == nil {
			err = s.TakeDelta(delta)
		}
		law.Check(b, err)
	}
	b.StopTimer()
	runtime.ReadMemStats(&after)
	whole := float64(*deltaRows * (8 + 4*dim))
	b.ReportMetric(100*float64(after.TotalAlloc-before.TotalAlloc)/float64(b.N)/whole, "%-of-memory/op")
}
