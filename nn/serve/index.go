package serve

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Index finds the items whose vectors have the largest inner products with a query's, by exact search, as for retrieval
// with two towers. Several goroutines may use one.
//
//	index, err := serve.NewIndex(ids, vectors) // what the item tower evaluates to, over all items
//	best := index.Top(queries, 10)          // of what the user tower evaluates to
type Index struct {
	ids     []int64
	vectors []float32
	dim     int
}

// Hit is an item found by an [Index].
type Hit struct {
	ID    int64
	Score float32
}

// NewIndex makes an index of items from their vectors, which are concatenated and of equal length. It keeps both
// slices.
func NewIndex(ids []int64, vectors []float32) (*Index, error) {
	if len(ids) == 0 || len(vectors) == 0 || len(vectors)%len(ids) != 0 {
		return nil, fmt.Errorf("serve: index: %d numbers don't make vectors of %d items", len(vectors), len(ids))
	}
	return &Index{ids, vectors, len(vectors) / len(ids)}, nil
}

// Top returns, for each query, the k items with the largest scores, the largest first; equal scores are in the order of
// the index. Items whose score is NaN are left out. queries are concatenated vectors of the same length as the items';
// a remainder is ignored.
func (x *Index) Top(queries []float32, k int) [][]Hit {
	const few, many = 64, 1024 // queries and items whose scores are computed at a time
	top, scores := make([][]Hit, len(queries)/x.dim), make([]float32, few*many)
	for q := 0; q < len(top); q += few {
		n := min(few, len(top)-q)
		for at := 0; at < len(x.ids); at += many {
			m := min(many, len(x.ids)-at)
			kernels.Gemm(false, true, n, m, x.dim, queries[q*x.dim:(q+n)*x.dim], x.vectors[at*x.dim:(at+m)*x.dim],
				scores[:n*m], false)
			for i := range n {
				top[q+i] = best(top[q+i], x.ids[at:at+m], scores[i*m:(i+1)*m], k)
			}
		}
	}
	return top
}

// best inserts items among the k best so far.
func best(top []Hit, ids []int64, scores []float32, k int) []Hit {
	for i, s := range scores {
		if s != s || k < 1 || len(top) == k && s <= top[k-1].Score {
			continue
		}
		at, _ := slices.BinarySearchFunc(top, s, func(h Hit, s float32) int {
			if h.Score >= s {
				return -1
			}
			return 1
		})
		top = slices.Insert(top[:min(len(top), k-1)], at, Hit{ids[i], s})
	}
	return top
}

// Recall returns the sum, over queries, of the fraction of a query's relevant items among its k best, and the number n
// of queries with any; relevant has an entry for each query. recall@k is sum/n, with both added over all workers
// (package metrics).
func (x *Index) Recall(queries []float32, relevant [][]int64, k int) (sum float64, n int64, err error) {
	if len(queries) != len(relevant)*x.dim {
		return 0, 0, fmt.Errorf("serve: index: %d numbers, want %d queries of %d each", len(queries), len(relevant),
			x.dim)
	}
	for i, top := range x.Top(queries, k) {
		found := 0
		for _, id := range relevant[i] {
			if slices.ContainsFunc(top, func(h Hit) bool { return h.ID == id }) {
				found++
			}
		}
		if len(relevant[i]) > 0 {
			sum, n = sum+float64(found)/float64(len(relevant[i])), n+1
		}
	}
	return sum, n, nil
}
