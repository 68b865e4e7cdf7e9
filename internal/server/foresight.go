package server

import (
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// Foresight: where every push is an update of its own, a gradient is computed on dense weights that miss the updates of other workers
// meanwhile, and a rule with momentum then goes too far: each of them has pushed it on before the first effect is seen. So the answer
// to a push has the weights as momentum will have moved them when the worker's next gradient arrives (SpecTrain, Chen et al. 2018;
// DANA, Hakimi et al. 2019). The weights that servers keep, save and evaluate are never foreseen ones.

// foresees says whether a strategy's training answers are of that kind.
func foresees(s strategy.Strategy, workers int) bool {
	switch s.Mode {
	case strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP:
		return (workers > 1 || s.LookAhead) && !s.NoForesight && s.DelayCompensation == 0
	}
	return false
}

// foresight is how many updates the next gradient of a push's sender is expected to miss: as many as this one has.
func (s *Server) foresight(f *wire.Frame, before uint64) int {
	if !s.foreseeing || f.Version == 0 || f.Version == wire.NoDense || before < f.Version {
		return 0
	}
	missed := int(before - f.Version)
	if s.c.Strategy.LookAhead { // its weights are used one step later
		missed += missed + 1
	}
	return missed
}
