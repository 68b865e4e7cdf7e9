package server

import (
	"math"
	"testing"

	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestRateIsSetOnce repeats the word of a rate, late too, after that of another: each counts once, from its own round
// on.
func TestRateIsSetOnce(t *testing.T) {
	for name, choice := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, choice)
			rate := func(h wire.Header, factor float64, want uint8) {
				t.Helper()
				h.Op, h.Life = wire.OpRate, max(h.Life, 1)
				var b wire.Builder
				b.Reset(h)
				if err := b.JSON(wire.Rate{Factor: factor}); err != nil {
					t.Fatal(err)
				}
				send(t, s, &b, want)
			}
			rate(wire.Header{Seq: 1}, 0.5, wire.StatusOK)
			rate(wire.Header{Seq: 2}, 0.25, wire.StatusOK)
			rate(wire.Header{Seq: 1}, 0.5, wire.StatusOK)
			send(t, s, pushOf(s, wire.Header{Seq: 3}), wire.StatusOK)
			if w := weight(t, s); w != -0.25 {
				t.Errorf("weight %g, want -0.25: a rate that came again counts", w)
			}
			rate(wire.Header{Seq: 4, Round: 1, Acked: 4}, 2, wire.StatusOK)
			rate(wire.Header{Seq: 2, Round: 0}, 0.25, wire.StatusStale)
			send(t, s, pushOf(s, wire.Header{Seq: 5, Round: 1}), wire.StatusOK)
			if w := weight(t, s); w != -2.25 {
				t.Errorf("weight %g, want -2.25: a rate that came late counts", w)
			}
			for _, bad := range []float64{0, -1, math.MaxFloat64 * -1} {
				rate(wire.Header{Seq: 6, Round: 2}, bad, wire.StatusRefused)
			}
			rate(wire.Header{Seq: 6, Life: 2}, 3, wire.StatusNotReady)
			rate(wire.Header{Seq: 6, Worker: 1}, 3, wire.StatusRefused)
			s.st.Lock()
			defer s.st.Unlock()
			if s.rounds.rates.factor() != 2 {
				t.Errorf("the factor is %v, want 2", s.rounds.rates.factor())
			}
		})
	}
}

// TestRatesOfRoundsToCome: rates that wait for their rounds are taken up with them, and a newer one for the same round
// counts.
func TestRatesOfRoundsToCome(t *testing.T) {
	s := newServer(t, strategy.Sync())
	s.st.Lock()
	s.rounds.rates.set(1, 0.5)
	s.rounds.rates.set(1<<32, 0.25)
	s.rounds.rates.set(1<<32, 4)
	s.st.Unlock()
	if all := s.rounds.rates.saved(); len(all) != 1 || all[0] != (table.Factor{From: 1, By: 4}) {
		t.Errorf("a checkpoint has %v", all)
	}
	for i, want := range []float32{-1, -1.5, -2} {
		send(t, s, pushOf(s, wire.Header{Seq: uint64(i + 1), Round: uint64(i)}), wire.StatusOK)
		if w := weight(t, s); w != want {
			t.Errorf("weight %g in round %d, want %g", w, i, want)
		}
	}
	var park wire.Builder
	park.Reset(wire.Header{Op: wire.OpPark, Life: 1, Seq: 4, Round: 3})
	send(t, s, &park, wire.StatusOK)
	send(t, s, pushOf(s, wire.Header{Seq: 5, Round: 1 << 32}), wire.StatusOK)
	if w := weight(t, s); w != -6 {
		t.Errorf("weight %g in the next phase, want -6", w)
	}
}
