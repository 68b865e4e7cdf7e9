package exchange

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestOwedAgainstMap pushes random ids: below the bound nothing is forgotten, whatever the ids are.
func TestOwedAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const dim = 3
		o, twin := newOwed(dim), map[uint64][]float32{}
		some := rapid.OneOf(rapid.Uint64Range(0, 50), rapid.Uint64())
		for range rapid.IntRange(1, 30).Draw(t, "pushes") {
			ids := rapid.SliceOfNDistinct(some, 0, 60, rapid.ID[uint64]).Draw(t, "ids")
			slices.Sort(ids)
			g := make([]float32, dim*len(ids))
			for i := range g {
				g[i] = float32(i)
			}
			want := slices.Clone(g)
			for i, id := range ids {
				for j, v := range twin[id] {
					want[i*dim+j] += v
				}
			}
			o.add(ids, g)
			if !slices.Equal(g, want) {
				t.Fatalf("gradients of %v become %v, want %v", ids, g, want)
			}
			for i := range g {
				g[i] = rand.Float32()
			}
			o.keep(g)
			for i, id := range ids {
				twin[id] = slices.Clone(g[i*dim : (i+1)*dim])
			}
		}
	})
}

// TestOwedForgetsTheOldest pushes more rows than there is room for: those of late are remembered, those of long ago are not,
// and memory stays within the bound.
func TestOwedForgetsTheOldest(t *testing.T) {
	o := newOwed(2)
	o.limit = 100
	push := func(from, n int) (g []float32) {
		ids := make([]uint64, n)
		for i := range ids {
			ids[i] = uint64(from + i)
		}
		g = make([]float32, 2*n)
		o.add(ids, g)
		left := make([]float32, 2*n)
		fill(left, 7)
		o.keep(left)
		return g
	}
	for from := 0; from < 1000; from += 50 {
		all(t, "a row's first push", push(from, 50), 0)
	}
	all(t, "rows of late", push(900, 100), 7)
	all(t, "rows of long ago", push(0, 100), 0)
	all(t, "a push larger than the bound", push(5000, 300), 0)
	all(t, "and again", push(5000, 300), 7)
	push(0, 1)
	for _, g := range []*generation{&o.young, &o.old} {
		if len(g.ids) > 300 || len(g.index) > 4*300 {
			t.Errorf("a generation of %d rows and %d places", len(g.ids), len(g.index))
		}
	}
}

// TestOwedSteadyStateAllocatesNothing has the rows of a job come again and again.
func TestOwedSteadyStateAllocatesNothing(t *testing.T) {
	o, ids, g := newOwed(4), make([]uint64, 200), make([]float32, 800)
	o.limit = 250 // so that generations turn
	next := uint64(0)
	push := func() {
		for i := range ids {
			ids[i] = (next + uint64(i)) * 977
		}
		next = (next + 100) % 1000
		o.add(ids, g)
		o.keep(g)
	}
	for range 50 {
		push()
	}
	if n := testing.AllocsPerRun(100, push); n > 0 {
		t.Errorf("%v allocations a push", n)
	}
}

func BenchmarkOwed(b *testing.B) {
	const n, dim, batches = 4096, 16, 16
	r := rand.New(rand.NewPCG(1, 2))
	all := make([][]uint64, batches)
	for i := range all {
		for range n {
			all[i] = append(all[i], r.Uint64N(1_000_000))
		}
		slices.Sort(all[i])
	}
	o, g := newOwed(dim), make([]float32, n*dim)
	at := 0
	for b.Loop() {
		o.add(all[at%batches], g)
		o.keep(g)
		at++
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
}
