package server

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// foresight decides which answers have predicted dense weights, see [update.Ahead].
type foresight struct {
	// on reports that the mode predicts weights, and that this server has dense ones.
	on bool
	// lookAhead reports that workers ask for a step's weights one step earlier.
	lookAhead bool
	floats    int // of a server's dense weights
}

// newForesight decides whether answers have predicted weights: in modes that support it, if a worker misses updates of
// others or of its own, and not with delay compensation, which corrects the gradient instead.
func newForesight(s strategy.Strategy, workers, floats int) foresight {
	on := mode.Of(s.Mode).Foresight && (workers > 1 || s.LookAhead) && !s.NoForesight && s.DelayCompensation == 0
	return foresight{on: on && floats > 0, lookAhead: s.LookAhead, floats: floats}
}

// ask makes a push compute predicted weights for its reply, if its sender asks for all dense weights of this server and
// names the version that it has.
func (o *foresight) ask(p *push, f *wire.Frame, r *state.Reply) {
	p.grad.Ahead = nil
	from, to, err := f.Span(o.floats)
	if !o.on || f.Version == 0 || f.Version == wire.NoDense || err != nil || from > 0 || to < o.floats {
		return
	}
	r.Ahead = update.Ahead{Dense: state.Grow(r.Ahead.Dense, o.floats), Held: f.Version, LookAhead: o.lookAhead}
	p.grad.Ahead = &r.Ahead
}
