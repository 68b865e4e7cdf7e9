package gradient

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestShowsAddUp: shows of accumulated steps add up, whether they were said or not.
func TestShowsAddUp(t *testing.T) {
	params := model()
	params[1].Entry.ShowClick.Threshold = 1
	a := NewAccumulator(params, false)
	for range 2 { // the second time in memory of the first
		for _, r := range []optimizer.Rows{
			{Param: params[1], IDs: []uint64{1, 2}, G: make([]float32, 6)},
			{Param: params[1], IDs: []uint64{2, 3}, G: make([]float32, 6), Show: []float32{5, 7}, Click: []float32{1, 0}},
		} {
			if err := a.Add(&optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}); err != nil {
				t.Fatal(err)
			}
		}
		r := a.Take(nil).Rows[0]
		if !slices.Equal(r.IDs, []uint64{1, 2, 3}) || !slices.Equal(r.Show, []float32{1, 6, 7}) || !slices.Equal(r.Click, []float32{0, 1, 0}) {
			t.Errorf("ids %v, shows %v, clicks %v", r.IDs, r.Show, r.Click)
		}
	}
	wrong := optimizer.Rows{Param: params[1], IDs: []uint64{1}, G: make([]float32, 3), Show: []float32{1, 1}}
	if err := a.Add(&optimizer.Step{Samples: 1, Rows: []optimizer.Rows{wrong}}); err == nil {
		t.Error("two numbers of shows for one row were taken")
	}
}
