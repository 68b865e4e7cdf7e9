package client

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// steady has a gradient for each payload that the payload can't say: a row's first element, and the share of the second in
// what rounding loses every step.
var steady = map[strategy.Payload][2]float32{
	strategy.PayloadFloat16:  {1, 0.10001},
	strategy.PayloadBFloat16: {1, 1.0035},
	strategy.PayloadInt8:     {1, 0.003}, // less than half of a 127th
}

const steadySteps = 400

// steadyStep is a step whose every even gradient is g[0] and odd one g[1].
func (th *thread) steadyStep(g [2]float32, ids []uint64) *optimizer.Step {
	st := th.step(0, ids, nil)
	for _, x := range [][]float32{th.params[0].G, st.Rows[0].G} {
		for i := range x {
			x[i] = g[i%2]
		}
	}
	return st
}

// steadily trains one worker on two servers and returns the weights and rows.
func steadily(t *testing.T, s strategy.Strategy, net func(*job) *tap) (w []float32) {
	g, ids := steady[s.Payload], []uint64{3, 4, 7, 1 << 40, 1 << 50}
	if s.Payload == strategy.PayloadFloat32 {
		g = steady[strategy.PayloadInt8]
	}
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, s)
		j.serve(0, 1)
		c := j.join(0, net(j))
		th := open(t, c)
		for range steadySteps {
			st := th.steadyStep(g, ids)
			check(t, th.Begin(t.Context(), st))
			check(t, th.End(t.Context(), st))
		}
		check(t, th.Close(t.Context()))
		check(t, c.EndEpoch(t.Context()))
		w = open(t, c).peek(ids...)
		check(t, c.Leave(t.Context()))
	})
	return w
}

func plain(j *job) *tap { return &tap{Transport: j.net} }

// TestWhatRoundingTakesComesLater trains many steps of one gradient. The weights are the sum of all gradients up to one
// rounding; that they would not be if what rounding takes were dropped is shown beside it.
func TestWhatRoundingTakesComesLater(t *testing.T) {
	law.Slow(t)
	for _, mode := range strategy.Modes() {
		if mode == strategy.ModeGeo {
			continue // exchanges differences of weights, as they are
		}
		for payload, g := range steady {
			t.Run(string(mode)+"/"+string(payload), func(t *testing.T) {
				bound := 1. / 127
				if payload == strategy.PayloadFloat16 {
					bound = 1. / 1000
				}
				if lost := steadySteps * math.Abs(float64(takenFrom(payload, g))); lost < 2*bound {
					t.Fatalf("rounding each gradient by itself would lose %v: too little to show anything", lost)
				}
				w := steadily(t, strategy.Strategy{Mode: mode, Payload: payload}, plain)
				for i, v := range w {
					if want := -steadySteps * float64(g[i%2]); math.Abs(float64(v)-want) > bound {
						t.Fatalf("value %d is %v after %d steps, want %v", i, v, steadySteps, want)
					}
				}
			})
		}
	}
}

// takenFrom is what rounding takes from the second element of a row.
func takenFrom(p strategy.Payload, row [2]float32) float32 {
	switch b := make([]byte, 4); p {
	case strategy.PayloadFloat16:
		kernels.Float16(b, row[:])
	case strategy.PayloadBFloat16:
		kernels.BFloat16(b, row[:])
	default:
		kernels.Int8(b[:2], row[:])
	}
	return row[1]
}

// TestRetriesOweNothing loses every third request or its answer: the weights are those of a network that loses none, bit for
// bit, since a frame is narrowed once.
func TestRetriesOweNothing(t *testing.T) {
	law.Slow(t)
	lossy := func(j *job) *tap {
		var n atomic.Int64
		lose := func(string, wire.Header) error {
			if h := uint32(n.Add(1)) * 2654435761; h>>16%3 == 0 { // in no rhythm: a rhythm may lose the same message every time
				return errors.New("lost")
			}
			return nil
		}
		return &tap{Transport: j.net, before: lose, after: lose}
	}
	for payload := range steady {
		s := strategy.Strategy{Mode: strategy.ModeSync, Payload: payload}
		want, got := steadily(t, s, plain), steadily(t, s, lossy)
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%s: value %d is %v, want %v", payload, i, got[i], want[i])
			}
		}
	}
}

// TestFloat32OwesNothing: the default payload has no feedback and changes no gradient.
func TestFloat32OwesNothing(t *testing.T) {
	s := strategy.Strategy{Mode: strategy.ModeSync, Payload: strategy.PayloadFloat32}
	sums := [2]float32{}
	for range steadySteps {
		sums[0] -= steady[strategy.PayloadInt8][0]
		sums[1] -= steady[strategy.PayloadInt8][1]
	}
	for i, v := range steadily(t, s, plain) {
		if v != sums[i%2] {
			t.Fatalf("value %d is %v, want %v", i, v, sums[i%2])
		}
	}
}
