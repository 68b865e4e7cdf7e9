package gradient

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func TestMergedStepsSumClicks(t *testing.T) {
	params := model()
	g, m := NewStep(params), NewMerger(params, optimizer.SGD{LR: 1}, strategy.Async())
	step := func(ids []uint64, clicks []float32) Step {
		return Step{Samples: 1, Dense: [][]float32{make([]float32, 4), nil}, Rows: []Rows{{IDs: ids, G: make([]float32, 3*len(ids)), Clicks: clicks}}}
	}
	g.Set(step([]uint64{1, 4}, []float32{3, 1, 1, 0}))
	m.Add(&g, step([]uint64{2, 4}, []float32{7, 0, 2, 2}))
	m.Add(&g, step([]uint64{1}, nil))
	if want := []float32{4, 1, 7, 0, 3, 2}; !slices.Equal(g.Rows[0].Clicks, want) {
		t.Errorf("shows and clicks of rows %v are %v, want %v", g.Rows[0].IDs, g.Rows[0].Clicks, want)
	}
	if g.Set(step([]uint64{1}, nil)); g.Rows[0].Clicks != nil {
		t.Errorf("the next step has the clicks %v of the one before", g.Rows[0].Clicks)
	}
}
