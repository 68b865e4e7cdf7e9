package gradient

import (
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// model is a variable of four numbers, and an embedding of width 3.
func model() []*optimizer.Param {
	return []*optimizer.Param{
		{Name: "w", Shape: []int{4}, G: []float32{1, 2, 3, 4}},
		{Name: "e", Shape: []int{0, 3}, Embedding: true},
	}
}

// taken is what an intake makes of a step of the model.
func taken(params []*optimizer.Param, policy strategy.NotFinite, rows ...optimizer.Rows) (Step, error) {
	return NewIntake(params, optimizer.SGD{}, Guard{policy, new(atomic.Int64)}, nil).Take(&optimizer.Step{Samples: 1, Rows: rows})
}

// TestGuardLooksEverywhere puts one number that is not finite in every place of a variable's gradient and of rows'.
func TestGuardLooksEverywhere(t *testing.T) {
	for at := range 10 {
		params := model()
		rows := optimizer.Rows{Param: params[1], IDs: []uint64{4, 5}, G: []float32{1, 2, 3, 4, 5, 6}}
		if at < 4 {
			params[0].G[at] = nan
		} else {
			rows.G[at-4] = nan
		}
		if _, err := taken(params, strategy.NotFiniteRefuse, rows); err == nil {
			t.Errorf("what is not finite in place %d was let in", at)
		}
	}
	params := model()
	params[0].Frozen, params[1].Frozen, params[0].G[0] = true, true, nan
	s, err := taken(params, strategy.NotFiniteRefuse, optimizer.Rows{Param: params[1], IDs: []uint64{1}, G: []float32{nan, 0, 0}})
	if err != nil || s.Dense[0] != nil || s.NumRows() != 0 {
		t.Errorf("a gradient that nobody asks for: %+v, error %v", s, err)
	}
}

// TestGuard: policies, in memory that is used again, with the shows and clicks of a table that reads them.
func TestGuard(t *testing.T) {
	for _, tt := range []struct {
		policy       strategy.NotFinite
		w, g, clicks []float32
		ids          []uint64
	}{
		{policy: strategy.NotFiniteSkip, w: make([]float32, 4), ids: []uint64{4, 6}, g: []float32{1, 2, 3, 7, 8, 9}, clicks: []float32{4, 1, 6, 3}},
		{policy: strategy.NotFiniteClip, w: []float32{2, 2, 0, -2}, ids: []uint64{4, 5, 6}, g: []float32{1, 2, 3, -5, 5, 0, 7, 8, 9},
			clicks: []float32{4, 1, 5, 2, 6, 3}},
	} {
		for _, counts := range []bool{false, true} {
			params, seen := model(), new(atomic.Int64)
			clicks := tt.clicks
			if params[1].Entry.ShowClick.Threshold = 1; !counts {
				params[1].Entry, clicks = optimizer.Entry{}, nil
			}
			k := NewIntake(params, optimizer.SGD{}, Guard{tt.policy, seen}, nil)
			for range 2 {
				copy(params[0].G, []float32{2, inf, nan, -inf})
				rows := optimizer.Rows{Param: params[1], IDs: []uint64{4, 5, 6}, G: []float32{1, 2, 3, -inf, 5, nan, 7, 8, 9},
					Show: []float32{4, 5, 6}, Click: []float32{1, 2, 3}}
				s, err := k.Take(&optimizer.Step{Samples: 3, Rows: []optimizer.Rows{rows}})
				if err != nil {
					t.Fatal(err)
				}
				r := s.Rows[0]
				if !slices.Equal(s.Dense[0], tt.w) || !slices.Equal(r.IDs, tt.ids) || !slices.Equal(r.G, tt.g) || !slices.Equal(r.Clicks, clicks) || s.Samples != 3 {
					t.Errorf("%s: %+v", tt.policy, s)
				}
				if rows.G[3] != -inf || len(rows.IDs) != 3 {
					t.Errorf("%s: the caller's rows were changed", tt.policy)
				}
			}
			if seen.Load() != 4 {
				t.Errorf("%s: %d were counted, want a variable and a row, twice", tt.policy, seen.Load())
			}
		}
	}
}

// TestRowsOf: an objective may leave embeddings out of a step, or list them in its own order.
func TestRowsOf(t *testing.T) {
	params := append(model(), &optimizer.Param{Name: "f", Shape: []int{0, 1}, Embedding: true})
	s, err := taken(params, strategy.NotFiniteRefuse, optimizer.Rows{Param: params[2], IDs: []uint64{7}, G: []float32{8}})
	if err != nil || len(s.Rows) != 2 || len(s.Rows[0].IDs) != 0 || !slices.Equal(s.Rows[1].IDs, []uint64{7}) {
		t.Errorf("rows %+v, error %v", s.Rows, err)
	}
	params[1].Entry.ShowClick.Threshold = 1
	wrong := optimizer.Rows{Param: params[1], IDs: []uint64{7}, G: []float32{1, 2, 3}, Show: []float32{-1}}
	if _, err := taken(params, strategy.NotFiniteRefuse, wrong); err == nil {
		t.Error("a negative number of shows was taken")
	}
}
