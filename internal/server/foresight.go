package server

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// foresees says whether a strategy's training answers have foreseen weights, as [update.Ahead] has them.
func foresees(s strategy.Strategy, workers int) bool {
	return mode.Of(s.Mode).Foresight && (workers > 1 || s.LookAhead) && !s.NoForesight && s.DelayCompensation == 0
}

// foresee has a push leave foreseen weights in its reply, if the strategy has them and its sender wants all dense weights of this server.
func (p *push) foresee(s *Server, f *wire.Frame, r *reply) {
	p.grad.Ahead = nil
	floats := s.floats()
	from, to, err := f.Span(floats)
	if !s.foreseeing || f.Version == 0 || f.Version == wire.NoDense || err != nil || from > 0 || to < floats || floats == 0 {
		return
	}
	r.foreseen = update.Ahead{Dense: grow(r.foreseen.Dense, floats), Held: f.Version, LookAhead: s.c.Strategy.LookAhead}
	p.grad.Ahead = &r.foreseen
}
