package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestForesight: weights are foreseen where every push is an update of its own that misses others, and the sender says
// how late it is.
func TestForesight(t *testing.T) {
	for _, c := range []struct {
		s       strategy.Strategy
		workers int
		held    uint64
		want    bool
	}{
		{strategy.Async(), 4, 7, true},
		{strategy.HalfAsync(), 4, 7, true},
		{strategy.SSP(2), 4, 7, true},
		{strategy.Strategy{LookAhead: true}, 4, 7, true},
		{strategy.Strategy{LookAhead: true}, 1, 7, true},
		{strategy.Async(), 1, 7, false},
		{strategy.Sync(), 4, 7, false},
		{strategy.Geo(2), 4, 7, false},
		{strategy.Strategy{NoForesight: true}, 4, 7, false},
		{strategy.Strategy{DelayCompensation: 1}, 4, 7, false},
		{strategy.Async(), 4, 0, false}, // the sender has no weights yet
		{strategy.Async(), 4, wire.NoDense, false},
	} {
		o := newForesight(c.s.WithDefaults(), c.workers, 3)
		var p push
		o.ask(&p, &wire.Frame{Header: wire.Header{Version: c.held}}, new(state.Reply))
		if got := p.grad.Ahead != nil; got != c.want {
			t.Errorf("%+v, %d workers: a push on weights of version %d: foreseen %v, want %v", c.s, c.workers, c.held, got, c.want)
		}
	}
}
