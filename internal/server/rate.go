package server

import (
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// rateChange is a factor on learning rates that counts from the update of a round on. Worker 0 sets it before it pushes for that round,
// or for the next phase when it has parked: so no server has closed the round, and all change with the same update.
type rateChange struct {
	round  mode.Round
	factor float64
}

// rate sets the factor, once however often the request arrives, or says which it is.
func (s *Server) rate(f *wire.Frame, r *reply) error {
	var msg wire.Rate
	if err := f.JSON(&msg); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(&f.Header)
	if err != nil {
		return err
	}
	if f.Seq == 0 {
		return r.JSON(wire.Rate{Factor: s.rateFactor()})
	}
	if f.Worker != 0 || !(msg.Factor > 0) || math.IsInf(msg.Factor, 1) {
		return wire.Refuse(wire.StatusRefused, "worker %d sets a factor of %v on learning rates: worker 0 sets it, above 0", f.Worker, msg.Factor)
	}
	st, seen, err := m.window.enter(f.Seq, f.Acked)
	if err != nil || seen {
		return err
	}
	s.setRate(mode.Round(f.Round), msg.Factor)
	st.apply(0, 0)
	s.broadcast()
	return nil
}

// setRate makes factor the one of all updates from a round on, where there are rounds, and else of the next one. mu is held.
func (s *Server) setRate(round mode.Round, factor float64) {
	if factor == s.rateFactor() {
		return
	}
	s.log.Info("learning rates have another factor", "factor", factor, "before", s.rateFactor())
	if !s.traits.Rounds {
		s.store.SetRateFactor(factor)
		return
	}
	for n := len(s.rates); n > 0 && s.rates[n-1].round >= round; n = len(s.rates) {
		s.rates = s.rates[:n-1]
	}
	s.rates = append(s.rates, rateChange{round, factor})
}

// changeRate sets the factor that the update of a round is made with. mu is held.
func (s *Server) changeRate(round mode.Round) {
	for len(s.rates) > 0 && s.rates[0].round <= round {
		s.store.SetRateFactor(s.rates[0].factor)
		s.rates = s.rates[1:]
	}
}

// rateFactor is the factor that was set last. mu is held.
func (s *Server) rateFactor() float64 {
	if n := len(s.rates); n > 0 {
		return s.rates[n-1].factor
	}
	return s.store.RateFactor()
}

// ratePassedOn is that factor and its round, for a server that was not told.
func (s *Server) ratePassedOn() (factor float64, round uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.rates); n > 0 {
		round = uint64(s.rates[n-1].round)
	}
	return s.rateFactor(), round
}

// savedFactors are those that a job which goes on from here needs: with the one that was set last, which may wait for its round.
func (s *Server) savedFactors() (all []wire.RateFactor) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.store.RateFactors(s.rateFactor()) {
		all = append(all, wire.RateFactor(f))
	}
	return all
}

func fromWire(all []wire.RateFactor) (factors []table.Factor) {
	for _, f := range all {
		factors = append(factors, table.Factor(f))
	}
	return slices.Clip(factors)
}
