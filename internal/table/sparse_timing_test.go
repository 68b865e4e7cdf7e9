package table

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gofleet/gofleet/optimizer"
)

const (
	benchRows = 1_000_000
	benchDim  = 16
	benchIDs  = 4096
)

func benchParam() *optimizer.Param {
	return &optimizer.Param{Name: "emb", Shape: []int{0, benchDim}, Embedding: true, Init: optimizer.Uniform{Low: -1, High: 1}}
}

// scattered is the i-th of the ids in the benchmarks: they are spread over 64 bits.
func scattered(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }

// batches are sorted unique ids, a different draw each.
func batches(n int) [][]uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	var all [][]uint64
	for range n {
		seen := map[uint64]bool{}
		for len(seen) < benchIDs {
			seen[scattered(r.IntN(benchRows))] = true
		}
		ids := make([]uint64, 0, benchIDs)
		for id := range seen {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		all = append(all, ids)
	}
	return all
}

func fullTable(tb testing.TB, rule optimizer.Rule, rows int) *Sparse {
	t, err := NewSparse(benchParam(), rule, Options{})
	if err != nil {
		tb.Fatal(err)
	}
	ids, w := make([]uint64, benchIDs), make([]float32, benchIDs*benchDim)
	for at := 0; at < rows; at += benchIDs {
		n := min(benchIDs, rows-at)
		for i := range n {
			ids[i] = scattered(at + i)
		}
		if err := t.Pull(ids[:n], w[:n*benchDim], 0); err != nil {
			tb.Fatal(err)
		}
	}
	return t
}

// mapTable is what one would write first.
type mapTable map[uint64][]float32

func fullMap() mapTable {
	m := mapTable{}
	for i := range benchRows {
		m[scattered(i)] = make([]float32, benchDim)
	}
	return m
}

func (m mapTable) pull(ids []uint64, w []float32) {
	for i, id := range ids {
		copy(w[i*benchDim:][:benchDim], m[id])
	}
}

func (m mapTable) push(ids []uint64, g []float32, rule optimizer.Rule) {
	s := &optimizer.State{Step: 1}
	for i, id := range ids {
		rule.Update(m[id], g[i*benchDim:][:benchDim], nil, s)
	}
}

func BenchmarkRows(b *testing.B) {
	all := batches(64)
	w := make([]float32, benchIDs*benchDim)
	each := func(b *testing.B, do func(ids []uint64)) {
		b.ReportAllocs()
		var took []time.Duration
		for b.Loop() {
			start := time.Now()
			do(all[len(took)%len(all)])
			took = append(took, time.Since(start))
		}
		slices.Sort(took) // the median is steadier than the mean on a shared machine
		b.ReportMetric(float64(took[len(took)/2])/benchIDs, "ns/row")
		b.ReportMetric(float64(took[len(took)/20])/benchIDs, "p5-ns/row")
	}
	for _, rule := range []optimizer.Rule{optimizer.SGD{LR: 1e-3}, optimizer.Adagrad{LR: 1e-3}, optimizer.Adam{LR: 1e-3}} {
		t := fullTable(b, rule, benchRows)
		b.Run(fmt.Sprintf("table/%s/pull", rule.Name()), func(b *testing.B) { each(b, func(ids []uint64) { t.Pull(ids, w, 1) }) })
		b.Run(fmt.Sprintf("table/%s/push", rule.Name()), func(b *testing.B) { each(b, func(ids []uint64) { t.Push(ids, w, 1) }) })
	}
	m := fullMap()
	b.Run("map/sgd/pull", func(b *testing.B) { each(b, func(ids []uint64) { m.pull(ids, w) }) })
	b.Run("map/sgd/push", func(b *testing.B) { each(b, func(ids []uint64) { m.push(ids, w, optimizer.SGD{LR: 1e-3}) }) })
}

// What ids cost that are kept out: new ones, half of which come a second time, under a filter of three.
func BenchmarkEntry(b *testing.B) {
	p := benchParam()
	p.Entry.CountFilter = 3
	t, err := NewSparse(p, optimizer.SGD{}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	ids, g := make([]uint64, benchIDs), make([]float32, benchIDs*benchDim)
	calls := 0
	for b.Loop() {
		for i := range ids {
			ids[i] = scattered((calls-i%2)*benchIDs + i - i%2) // every odd place repeats an even one of the call before
		}
		if res, err := t.Push(ids, g, 1); err != nil || res.Waiting != len(ids) {
			b.Fatalf("%+v, %v", res, err)
		}
		calls++
	}
	b.ReportMetric(float64(b.Elapsed())/float64(calls*benchIDs), "ns/row")
}
