package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestDelayCompensation pushes twice on the weights of one pull. The second gradient, 2 where the weights are 1 below
// those pulled, is taken for 2 + 0.5·2·2·(−1) = 0.
func TestDelayCompensation(t *testing.T) {
	for lambda, want := range map[float64]float32{0: -3, 0.5: -1} {
		s := newServer(t, strategy.Strategy{DelayCompensation: lambda})
		var pull wire.Builder
		pull.Reset(wire.Header{Op: wire.OpStep, Life: 1})
		send(t, s, &pull, wire.StatusOK)
		for step, g := range []float32{1, 2} {
			var b wire.Builder
			b.Reset(wire.Header{Op: wire.OpStep, Life: 1, Samples: 1, Seq: uint64(step + 1), Version: wire.NoDense})
			b.Dense([]float32{g, g, g, g})
			send(t, s, &b, wire.StatusOK)
		}
		if w := weight(t, s); w != want {
			t.Errorf("with λ %g the weight is %g, want %g", lambda, w, want)
		}
	}
}
