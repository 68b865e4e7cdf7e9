package gradient

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func TestMergedStepsSumClicks(t *testing.T) {
	params := model()
	params[1].Entry.ShowClick.Threshold = 1
	g, m := NewStep(params), NewMerger(params, optimizer.SGD{LR: 1}, strategy.Async())
	step := func(ids []uint64, clicks []float32) Step {
		return Step{Samples: 1, Dense: [][]float32{make([]float32, 4), nil}, Rows: []Rows{{IDs: ids, G: make([]float32, 3*len(ids)), Clicks: clicks}}}
	}
	g.Set(step([]uint64{1, 4}, []float32{3, 1, 1, 0}))
	m.Add(&g, step([]uint64{2, 4}, []float32{7, 0, 2, 2}))
	m.Add(&g, step([]uint64{1}, nil))
	m.Add(&g, step([]uint64{1}, nil))
	if want := []float32{5, 1, 7, 0, 3, 2}; !slices.Equal(g.Rows[0].Clicks, want) {
		t.Errorf("shows and clicks of rows %v are %v, want %v", g.Rows[0].IDs, g.Rows[0].Clicks, want)
	}
	if g.Set(step([]uint64{1}, nil)); g.Rows[0].Clicks != nil {
		t.Errorf("the next step has the clicks %v of the one before", g.Rows[0].Clicks)
	}
}

// TestStepsAllocateNothing takes steps all the way to what travels, with shows and clicks and what is not finite, in memory that they have
// grown before.
func TestStepsAllocateNothing(t *testing.T) {
	params := model()
	params[1].Entry.ShowClick.Threshold = 1
	rule := optimizer.ClipByValue{Rule: optimizer.Adagrad{LR: 1}, Max: 1}
	sum := NewAccumulator(params, false)
	intake := NewIntake(params, optimizer.SGD{}, Guard{strategy.NotFiniteSkip, new(atomic.Int64)}, NewClipper(params, rule, true, true))
	push, merger := NewStep(params), NewMerger(params, rule, strategy.Async())
	rows := optimizer.Rows{Param: params[1], IDs: []uint64{1, 4, 6}, G: []float32{1, 2, 3, 4, nan, 6, 7, 8, 9}, Show: []float32{1, 2, 3}}
	st := &optimizer.Step{Samples: 2, Rows: []optimizer.Rows{rows}}
	step := func() {
		copy(params[0].G, []float32{1, inf, 3, 4})
		law.Check(t, errors.Join(sum.Add(st), sum.Add(st)))
		own, err := intake.Take(sum.Take(st))
		law.Check(t, err)
		push.Set(own)
		merger.Add(&push, own)
	}
	step()
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
