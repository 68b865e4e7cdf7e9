package table

import (
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
)

// TestPlayedPushesCountAsLive: a push that was folded of several leaves of an id that waits what it left when it was live.
func TestPlayedPushesCountAsLive(t *testing.T) {
	e := optimizer.Entry{CountFilter: 9}
	p := &optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true, Entry: e}
	live, err := NewSparse(p, optimizer.SGD{LR: 1}, Options{Telling: true})
	check(t, err)
	played := entryTable(t, 0, e)
	ids, g := []uint64{4, 7}, []float32{1, 1}
	for _, n := range []Clicks{
		{Pushes: []int32{3, 1}}, {}, {Show: []float32{5, 2}, Click: []float32{1, 0}, Pushes: []int32{2, 2}},
	} {
		res, err := live.PushClicks(ids, g, n, 1)
		check(t, err)
		refused := slices.Sorted(slices.Values(*res.Refused))
		check(t, played.Play(ids, g, Clicks{Show: n.Show, Click: n.Click}, 1, refused))
		if got, want := played.Waiters(), live.Waiters(); !slices.Equal(got, want) {
			t.Errorf("after %+v: played %+v, live %+v", n, got, want)
		}
	}
}
