package serve

import (
	"cmp"
	"math"
	"slices"
	"testing"
)

// TestIndex: what an index finds are the first of all items by sorted scores, whatever blocks they are computed in.
//
// Promise: [G2] retrieval over a table of items is exact
func TestIndex(t *testing.T) {
	for _, size := range [][3]int{{1, 1, 1}, {7, 3, 5}, {2500, 8, 70}, {1024, 2, 64}} {
		items, dim, queries := size[0], size[1], size[2]
		ids := make([]int64, items)
		for i := range ids {
			ids[i] = int64(10 * i)
		}
		vectors, asked := uniform(1, items*dim, -1, 1), uniform(2, queries*dim, -1, 1)
		for i := range vectors { // some scores are equal
			vectors[i] = float32(math.Round(float64(vectors[i])*4)) / 4
			if i < len(asked) {
				asked[i] = float32(math.Round(float64(asked[i])*4)) / 4
			}
		}
		index, err := NewIndex(ids, vectors)
		if err != nil {
			t.Fatal(err)
		}
		found, want := index.Top(asked, 6), 0.0
		relevant := make([][]int64, queries)
		for q, top := range found {
			scores := make([]float64, items)
			for i := range scores {
				for j := range dim {
					scores[i] += float64(asked[q*dim+j]) * float64(vectors[i*dim+j])
				}
			}
			order := make([]int, items)
			for i := range order {
				order[i] = i
			}
			slices.SortStableFunc(order, func(a, b int) int {
				return cmp.Compare(scores[b], scores[a])
			})
			if len(top) != min(6, items) {
				t.Fatalf("%v: %d hits", size, len(top))
			}
			for at, hit := range top {
				if hit.ID != ids[order[at]] || math.Abs(float64(hit.Score)-scores[order[at]]) > 1e-6 {
					t.Fatalf("%v: query %d, place %d: %v, want item %d of score %v", size, q, at, hit, ids[order[at]], scores[order[at]])
				}
			}
			if q%3 > 0 {
				relevant[q] = []int64{ids[order[0]], ids[order[items-1]]}
				if want += .5; items <= 6 {
					want += .5
				}
			}
		}
		sum, n, err := index.Recall(asked, relevant, 6)
		if err != nil || math.Abs(sum-want) > 1e-9 || int(n) != queries-(queries+2)/3 {
			t.Errorf("%v: recall %v of %d, %v; want %v", size, sum, n, err, want)
		}
	}
	index, err := NewIndex([]int64{1, 2}, []float32{float32(math.NaN()), 1})
	if top := index.Top([]float32{1}, 5); err != nil || len(top[0]) != 1 || top[0][0].ID != 2 || len(index.Top([]float32{1}, 0)[0]) != 0 {
		t.Error(top, err)
	}
	if _, err := NewIndex([]int64{1, 2}, []float32{1, 2, 3}); err == nil {
		t.Error("3 numbers are two vectors")
	}
	if _, _, err := index.Recall([]float32{1, 2}, [][]int64{{1}}, 1); err == nil {
		t.Error("2 queries for one")
	}
}
