package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestForesight: weights are foreseen as far as the push that asks for them came late, a step further where workers look ahead, and not
// at all where gradients miss nothing or lateness is unknown.
func TestForesight(t *testing.T) {
	for _, c := range []struct {
		s            strategy.Strategy
		workers      int
		held, before uint64
		want         int // -1: nothing is foreseen
	}{
		{strategy.Async(), 4, 7, 10, 3},
		{strategy.Async(), 4, 7, 7, 0},
		{strategy.HalfAsync(), 4, 7, 10, 3},
		{strategy.SSP(2), 4, 7, 10, 3},
		{strategy.Strategy{LookAhead: true}, 4, 7, 10, 7},
		{strategy.Strategy{LookAhead: true}, 1, 7, 7, 1},
		{strategy.Async(), 4, 11, 10, 0},
		{strategy.Async(), 1, 7, 10, -1},
		{strategy.Sync(), 4, 7, 10, -1},
		{strategy.Geo(2), 4, 7, 10, -1},
		{strategy.Strategy{NoForesight: true}, 4, 7, 10, -1},
		{strategy.Strategy{DelayCompensation: 1}, 4, 7, 10, -1},
		{strategy.Async(), 4, 0, 10, -1}, // the sender has no weights yet
		{strategy.Async(), 4, wire.NoDense, 10, -1},
	} {
		st := c.s.WithDefaults()
		s := &Server{c: Config{Strategy: st, Layout: &layout.Layout{Parts: []layout.Part{{Floats: 3}}}}, foreseeing: foresees(st, c.workers)}
		var p push
		got := -1
		if p.foresee(s, &wire.Frame{Header: wire.Header{Version: c.held}}, new(reply)); p.foreseen != nil {
			got = p.foreseen.updates(c.before)
		}
		if got != c.want {
			t.Errorf("%+v, %d workers: a push at version %d on weights of version %d: %d updates are foreseen, want %d", c.s, c.workers, c.before, c.held, got, c.want)
		}
	}
}
