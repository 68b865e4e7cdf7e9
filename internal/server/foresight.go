package server

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// Foresight: where every push is an update of its own, a gradient is computed on dense weights that miss the updates of other workers
// meanwhile, and a rule with momentum then goes too far: each of them has pushed it on before the first effect is seen. So the answer
// to a push has the weights as momentum will have moved them when the worker's next gradient arrives (SpecTrain, Chen et al. 2018;
// DANA, Hakimi et al. 2019). The weights that servers keep, save and evaluate are never foreseen ones.

// foresees says whether a strategy's training answers are of that kind.
func foresees(s strategy.Strategy, workers int) bool {
	return mode.Of(s.Mode).Foresight && (workers > 1 || s.LookAhead) && !s.NoForesight && s.DelayCompensation == 0
}

// foreseen are dense weights that an update leaves for the answer to its push, while they are near anyway.
type foreseen struct {
	dense     []float32
	held      uint64 // the version of the weights that the sender has
	lookAhead bool   // its weights are used one step later
	version   uint64 // of these, when they are there
}

// updates is how many updates the next gradient of a push's sender is expected to miss: as many as this one has.
func (a *foreseen) updates(before uint64) int {
	if before < a.held {
		return 0
	}
	missed := int(before - a.held)
	if a.lookAhead {
		missed += missed + 1
	}
	return missed
}

// foresee has a push leave foreseen weights in its reply, if the strategy has them and its sender wants all dense weights of this server.
func (p *push) foresee(s *Server, f *wire.Frame, r *reply) {
	p.foreseen = nil
	floats := s.floats()
	from, to, err := f.Span(floats)
	if !s.foreseeing || f.Version == 0 || f.Version == wire.NoDense || err != nil || from > 0 || to < floats || floats == 0 {
		return
	}
	r.foreseen = foreseen{dense: grow(r.foreseen.dense, floats), held: f.Version, lookAhead: s.c.Strategy.LookAhead}
	p.foreseen = &r.foreseen
}
