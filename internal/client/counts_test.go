package client

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func TestMergedGradientsSumCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newJob(t, 1, 1, strategy.Async()).client(0, nil)
		g, m := newCollected(c, params()), newMerger(c)
		dense := [][]float32{make([]float32, 24), nil}
		push := func(ids []uint64, counts []float32) []rows {
			return []rows{{ids: ids, data: make([]float32, 2*len(ids)), counts: counts}}
		}
		g.set(1, dense, push([]uint64{1, 4}, []float32{3, 1, 1, 0}))
		m.add(g, 1, dense, push([]uint64{2, 4}, []float32{7, 0, 2, 2}))
		m.add(g, 1, dense, push([]uint64{1}, nil))
		if want := []float32{4, 1, 7, 0, 3, 2}; !slices.Equal(g.rows[0].counts, want) {
			t.Errorf("shows and clicks of rows %v are %v, want %v", g.rows[0].ids, g.rows[0].counts, want)
		}
		g.set(1, dense, push([]uint64{1}, nil))
		if g.rows[0].counts != nil {
			t.Errorf("the next gradient has the counts %v of the one before", g.rows[0].counts)
		}
	})
}

func TestCleanedRowsKeepTheirCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nan := float32(0)
		nan /= nan
		for policy, want := range map[strategy.NotFinite][]float32{
			strategy.NotFiniteSkip: {4, 1, 6, 3}, strategy.NotFiniteClip: {4, 1, 5, 2, 6, 3},
		} {
			k := newCleaner(newJob(t, 1, 1, strategy.Strategy{NotFinite: policy}).client(0, nil))
			p := *params()[1]
			r := optimizer.Rows{Param: &p, IDs: []uint64{1, 2, 3}, G: []float32{1, 1, nan, 2, 3, 3}, Show: []float32{4, 5, 6}, Click: []float32{1, 2, 3}}
			for range 2 { // the second time in memory of the first
				if got, err := k.embedding(0, &r); err != nil || got.counts != nil {
					t.Errorf("counts %v of a table that reads none, error %v", got.counts, err)
				}
			}
			p.Entry.ShowClick.Threshold = 1
			for range 2 {
				if got, err := k.embedding(0, &r); err != nil || !slices.Equal(got.counts, want) {
					t.Errorf("%s: counts %v, want %v, error %v", policy, got.counts, want, err)
				}
			}
		}
	})
}
