package exchange

import (
	"errors"
	"testing"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestFailedPushOwesNothing has a push fail for good: what was owed goes with it, since nobody knows what arrived.
func TestFailedPushOwesNothing(t *testing.T) {
	var broken error
	s := servers(t, 2, wire.Int8, func(int, *wire.Frame, *wire.Builder) error { return broken })
	x := New(s)
	push := func() error {
		g := make([]float32, 24)
		for i := range g {
			g[i] = [2]float32{1, 0.003}[i%2] // the odd ones are less than half of a 127th
		}
		return x.Run(t.Context(), Request{Op: wire.OpStep, Push: gradient.Step{Samples: 1, Dense: [][]float32{g, nil},
			Rows: []gradient.Rows{{IDs: []uint64{1, 2}, G: []float32{1, 0.003, 1, 0.003}}}}, All: true})
	}
	if err := push(); err != nil {
		t.Fatal(err)
	}
	if owed := x.feedback.dense[0][1]; owed != 0.003 {
		t.Errorf("%v is owed after one push, want 0.003", owed)
	}
	broken = wire.ErrVersion
	if err := push(); !errors.Is(err, wire.ErrVersion) {
		t.Errorf("got %v, want the refusal", err)
	}
	if x.feedback != nil {
		t.Error("something is owed after a push that failed")
	}
}

// TestSumsBeyondFloat32 owes so much that the next gradient's sum is infinite: it is dropped and the step goes on.
func TestSumsBeyondFloat32(t *testing.T) {
	k := newFeedback(servers(t, 1, wire.Float16, nil).Layout)
	huge := float32(3e38)
	push := func() Request {
		r := Request{Push: gradient.Step{Dense: [][]float32{fill(make([]float32, 24), huge), nil}, Rows: []gradient.Rows{{IDs: []uint64{5}, G: []float32{huge, -huge}}}}}
		k.add(&r)
		k.owed[0].keep(r.Push.Rows[0].G) // all of it, as if nothing had been sent
		return r
	}
	push()
	r := push()
	all(t, "dense", r.Push.Dense[0], huge)
	if got := r.Push.Rows[0].G; got[0] != huge || got[1] != -huge {
		t.Errorf("rows are %v", got)
	}
}
