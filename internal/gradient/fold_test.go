package gradient

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestVectorsOfTheOriginal: N=2, SGD 0.1, w=1, g=(0.2, 0.4), and a row that only worker 1 touched.
//
// Promise: [G2] a round's gradient is folded in worker order, weighted by samples
// Also: TestUnevenBatchesWeighBySamples, TestOneMemberIsUnchanged, TestFoldAgainstMap
func TestVectorsOfTheOriginal(t *testing.T) {
	step := func(g float32) float64 { return math.Round(float64(1-0.1*g)*1e6) / 1e6 }
	for _, c := range []struct {
		weighting  strategy.Weighting
		dense, row float64
	}{{strategy.WeightSamples, 0.97, 0.98}, {strategy.WeightEqual, 0.97, 0.98}, {strategy.WeightPushes, 0.97, 0.96}} {
		factors := Factors(nil, c.weighting, []int{10, 10})
		dense := []float32{0}
		FoldDense(dense, [][]float32{{0.2}, {0.4}}, factors)
		if got := step(dense[0]); got != c.dense {
			t.Errorf("weighting %q: dense %v, want %v", c.weighting, got, c.dense)
		}
		rows := new(Folder).Fold(rowsOfWidth(1), []Rows{{}, {IDs: []uint64{7}, G: []float32{0.4}}}, factors, c.weighting)
		if got := step(rows.G[0]); got != c.row {
			t.Errorf("weighting %q: row %v, want %v", c.weighting, got, c.row)
		}
	}
}

func TestUnevenBatchesWeighBySamples(t *testing.T) {
	got := Factors(nil, strategy.WeightSamples, []int{30, 10})
	if diff := cmp.Diff([]float32{0.75, 0.25}, got); diff != "" {
		t.Error(diff)
	}
	if got := Factors(nil, strategy.WeightEqual, []int{30, 10}); got[0] != 0.5 || got[1] != 0.5 {
		t.Errorf("equally: %v", got)
	}
	if got := Factors(nil, strategy.WeightSamples, []int{0, 0}); got[0] != 0.5 || got[1] != 0.5 {
		t.Errorf("of no samples: %v", got)
	}
}

// TestOneMemberIsUnchanged: a round of one worker must be bit-identical to training alone.
func TestOneMemberIsUnchanged(t *testing.T) {
	g := []float32{0.1, -3e-7, 1e30}
	out := make([]float32, 3)
	FoldDense(out, [][]float32{g}, Factors(nil, strategy.WeightSamples, []int{17}))
	if !slices.Equal(out, g) {
		t.Errorf("%v became %v", g, out)
	}
}

// TestFoldAgainstMap compares with the obvious way.
func TestFoldAgainstMap(t *testing.T) {
	var f Folder
	rapid.Check(t, func(t *rapid.T) {
		dim := rapid.IntRange(1, 9).Draw(t, "dim")
		weighting := rapid.SampledFrom(weightings).Draw(t, "weighting")
		members := make([]Rows, rapid.IntRange(1, 4).Draw(t, "members"))
		samples := make([]int, len(members))
		for m := range members {
			samples[m] = rapid.IntRange(1, 9).Draw(t, "samples")
			ids := rapid.SliceOfDistinct(rapid.Uint64Range(0, 12), func(id uint64) uint64 { return id }).Draw(t, "ids")
			slices.Sort(ids)
			members[m] = Rows{IDs: ids, G: rapid.SliceOfN(rapid.Float32Range(-1, 1), dim*len(ids), dim*len(ids)).Draw(t, "g")}
			if rapid.Bool().Draw(t, "counts") {
				members[m].Clicks = rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 9), func(n int) float32 { return float32(n) }), 2*len(ids), 2*len(ids)).Draw(t, "n")
			}
		}
		factors := Factors(nil, weighting, samples)
		p := rowsOfWidth(dim)
		p.Entry = rapid.SampledFrom([]optimizer.Entry{{}, {CountFilter: 2}, {ShowClick: optimizer.ShowClick{Threshold: 1}}}).Draw(t, "entry")
		got := f.Fold(p, members, factors, weighting)
		sums, pushes := map[uint64][]float64{}, map[uint64]float64{}
		for m, r := range members {
			for i, id := range r.IDs {
				s, w := sums[id], float64(factors[m])
				if s == nil {
					s = make([]float64, dim)
				}
				if weighting == strategy.WeightPushes {
					w = 1
				}
				for d := range dim {
					s[d] += w * float64(r.G[i*dim+d])
				}
				sums[id], pushes[id] = s, pushes[id]+1
			}
		}
		if len(got.IDs) != len(sums) || !slices.IsSorted(got.IDs) {
			t.Fatalf("ids %v, want the %d of the map in order", got.IDs, len(sums))
		}
		checkClicks(t, p, members, got)
		if has := len(got.Pushes) > 0; has != (p.Entry.CountFilter > 1 && len(got.IDs) > 0) {
			t.Fatalf("pushes of %d rows, entry %+v: %v", len(got.IDs), p.Entry, got.Pushes)
		}
		for i, id := range got.IDs {
			for d := range dim {
				want := sums[id][d]
				if weighting == strategy.WeightPushes {
					want /= pushes[id]
				}
				if math.Abs(float64(got.G[i*dim+d])-want) > 1e-5 {
					t.Fatalf("row %d: got %v, want %v", id, got.G[i*dim:][:dim], want)
				}
			}
			if got.Pushes != nil && float64(got.Pushes[i]) != pushes[id] {
				t.Fatalf("row %d is folded of %d pushes, want %v", id, got.Pushes[i], pushes[id])
			}
		}
	})
}

// rowsOfWidth is an embedding.
func rowsOfWidth(dim int) *optimizer.Param {
	return &optimizer.Param{Name: "rows", Shape: []int{0, dim}, Embedding: true}
}

// checkClicks holds a fold's shows and clicks to a map's.
func checkClicks(t *rapid.T, p *optimizer.Param, members []Rows, got Rows) {
	said, sums := p.Entry.Counts(), map[uint64][2]float32{}
	for _, r := range members {
		for i, id := range r.IDs {
			n := [2]float32{1, 0}
			if r.Clicks != nil {
				n = [2]float32(r.Clicks[2*i:])
			}
			sums[id] = [2]float32{sums[id][0] + n[0], sums[id][1] + n[1]}
		}
	}
	if said && len(got.Clicks) != 2*len(got.IDs) || !said && got.Clicks != nil {
		t.Fatalf("%d counts of %d rows (the entry counts: %t)", len(got.Clicks), len(got.IDs), said)
	}
	for i, id := range got.IDs {
		if said && [2]float32(got.Clicks[2*i:]) != sums[id] {
			t.Fatalf("row %d: %v shows and clicks, want %v", id, got.Clicks[2*i:][:2], sums[id])
		}
	}
}

// TestFoldAllocatesOnlyToGrow folds a smaller round after a larger one in the same memory.
func TestFoldAllocatesOnlyToGrow(t *testing.T) {
	round := func(n int) []Rows {
		members := make([]Rows, 2)
		for m := range members {
			for i := range n {
				members[m].IDs = append(members[m].IDs, uint64(2*i+m%2*(i%2)))
				members[m].G = append(members[m].G, 1, 2, 3, 4)
			}
		}
		return members
	}
	var f Folder
	p := rowsOfWidth(4)
	large, small, factors := round(100), round(50), []float32{0.5, 0.5}
	f.Fold(p, large, factors, strategy.WeightSamples)
	if n := testing.AllocsPerRun(20, func() { f.Fold(p, small, factors, strategy.WeightSamples) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestFoldOfManyRows folds more rows than are worked on together, beside a sum in a map.
func TestFoldOfManyRows(t *testing.T) {
	const dim, height = 3, 9000
	r := rand.New(rand.NewPCG(1, 1))
	members, factors := make([]Rows, 5), []float32{0.5, 0.25, 0.125, 2, 1}
	want := map[uint64][dim]float32{}
	for m := range members {
		members[m].IDs = someIDs(r, 1000*(m+1), height)
		for _, id := range members[m].IDs {
			sum := want[id]
			for i := range sum {
				g := float32(r.IntN(100))
				members[m].G = append(members[m].G, g)
				sum[i] += factors[m] * g // exact
			}
			want[id] = sum
		}
	}
	var f Folder
	got := f.Fold(rowsOfWidth(dim), members, factors, strategy.WeightSamples)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), got.IDs); diff != "" {
		t.Fatal(diff)
	}
	for i, id := range got.IDs {
		if [dim]float32(got.G[i*dim:]) != want[id] {
			t.Fatalf("row %d is %v, want %v", id, got.G[i*dim:][:dim], want[id])
		}
	}
}

// BenchmarkFold is the cost of a row of a member, for rounds of some members with 4,096 rows of 16 floats each, of a million.
func BenchmarkFold(b *testing.B) {
	const ids, dim, height = 4096, 16, 1_000_000
	for _, n := range []int{2, 3, 8, 32, 128} {
		b.Run(fmt.Sprintf("%dmembers", n), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			members, factors := make([]Rows, n), make([]float32, n)
			for m := range members {
				members[m].IDs = someIDs(r, ids, height)
				members[m].G = make([]float32, ids*dim)
				for i := range members[m].G {
					members[m].G[i] = r.Float32()
				}
				factors[m] = 1 / float32(n)
			}
			var f Folder
			p := rowsOfWidth(dim)
			f.Fold(p, members, factors, strategy.WeightSamples)
			for b.Loop() {
				f.Fold(p, members, factors, strategy.WeightSamples)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n*ids), "ns/row")
		})
	}
}

// someIDs are n different ids below height, ascending.
func someIDs(r *rand.Rand, n, height int) []uint64 {
	seen := map[uint64]bool{}
	for len(seen) < n {
		seen[r.Uint64N(uint64(height))] = true
	}
	return slices.Sorted(maps.Keys(seen))
}
