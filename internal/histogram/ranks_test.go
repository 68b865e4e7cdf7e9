package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
)

// document is a row of a group.
type document struct {
	group            int64
	score, relevance float32
}

// documents are of groups of one to five, with ties, scores of both signs, and groups without anything relevant.
func documents(r *rand.Rand, groups int) (all []document) {
	for g := range groups {
		for range 1 + r.IntN(5) {
			all = append(all, document{int64(g) - 3, float32(r.IntN(4)) - 2, float32(max(0, r.IntN(5)-2))})
		}
	}
	return all
}

// orders calls see with each order by falling score.
func orders(done, left []document, see func([]document)) {
	if len(left) == 0 {
		see(done)
		return
	}
	top := slices.MaxFunc(left, func(a, b document) int { return int(a.score - b.score) }).score
	for i, d := range left {
		if d.score == top {
			orders(append(slices.Clone(done), d), slices.Delete(slices.Clone(left), i, i+1), see)
		}
	}
}

// slowly are the gain and the reciprocal rank by their definitions, over all orders of equal scores.
func slowly(all []document, k int) (ndcg, mrr float64) {
	by := map[int64][]document{}
	for _, d := range all {
		by[d.group] = append(by[d.group], d)
	}
	gain := func(of []document) (sum float64) {
		for i, d := range of[:min(k, len(of))] {
			sum += float64(d.relevance) / math.Log2(float64(i+2))
		}
		return sum
	}
	ranked := 0.0
	for _, of := range by {
		best := gain(slices.SortedFunc(slices.Values(of), func(a, b document) int { return int(b.relevance - a.relevance) }))
		if best == 0 {
			continue
		}
		n, gains, firsts := 0.0, 0.0, 0.0
		orders(nil, of, func(order []document) {
			n++
			gains += gain(order)
			firsts += 1 / float64(1+slices.IndexFunc(order, func(d document) bool { return d.relevance > 0 }))
		})
		ranked, ndcg, mrr = ranked+1, ndcg+gains/n/best, mrr+firsts/n
	}
	return ndcg / ranked, mrr / ranked
}

// TestRanks: ranks of groups are those of their definitions, whoever has which rows in whichever order, the same bits,
// and of more rows than are kept those of the same groups.
func TestRanks(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		all := documents(r, 200)
		for _, most := range []int{1 << 20, 100} {
			var first [2]float64
			for workers := 1; workers < 5; workers++ {
				parts := make([]Scores, workers)
				for i := range parts {
					parts[i] = Scores{Most: most, Sampled: true}
				}
				for _, i := range r.Perm(len(all)) {
					parts[r.IntN(workers)].AddRanked(all[i].group, all[i].score, all[i].relevance)
				}
				joined := Scores{Most: most, Sampled: true}
				for i := range parts {
					law.Check(t, joined.Join(parts[i].Bytes()))
				}
				got := [2]float64{joined.Mean(Gains(3)), joined.Mean(Reciprocals)}
				if workers == 1 {
					first = got
				}
				kept := slices.DeleteFunc(slices.Clone(all), func(d document) bool { return !joined.sampled(d.group) })
				ndcg, mrr := slowly(kept, 3)
				if got != first || math.Abs(got[0]-ndcg) > 1e-12 || math.Abs(got[1]-mrr) > 1e-12 || (joined.Sample() < 1) != (most == 100) {
					t.Errorf("seed %d, %d workers: %v, of one %v, want %v and %v of %d rows", seed, workers, got, first, ndcg, mrr, len(kept))
				}
			}
		}
	}
	if none := (&Scores{Most: 1}); !math.IsNaN(none.Mean(Gains(3))) || !math.IsNaN(none.Mean(Reciprocals)) {
		t.Error("nothing has ranks")
	}
}
