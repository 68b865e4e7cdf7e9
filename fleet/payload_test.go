package fleet_test

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestNarrowPayloadsTrain trains three workers in rounds with narrow payloads: the weights stay near those of float32, and
// are one result, bit for bit, whatever carries the gradients.
//
// Promise: [G2] narrow payloads stay within a rounding; what rounding takes comes later; retries change no bit
// Also: TestWhatRoundingTakesComesLater (internal/client), TestRetriesOweNothing (internal/client)
func TestNarrowPayloadsTrain(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	rule := optimizer.SGD{LR: 0.1}
	of := func(p strategy.Payload, change func(*strategy.Strategy)) []byte {
		s := strategy.Sync()
		s.Payload = p
		change(&s)
		return lawful(rule, s).Weights(t, trial.Cluster(2, 3))
	}
	same := func(*strategy.Strategy) {}
	want := of(strategy.PayloadFloat32, same)
	for _, p := range trial.Some(t, []strategy.Payload{strategy.PayloadFloat16, strategy.PayloadBFloat16, strategy.PayloadInt8}) {
		t.Run(string(p), func(t *testing.T) {
			got := of(p, same)
			// Each worker owes at most half of a last place of its largest gradient, which is about 1/4.
			if far := trial.Distance(t, want, got); far == 0 || far > 0.1*0.25/127 {
				t.Errorf("%g away from float32 after %d steps", far, lawSteps)
			}
			for name, change := range trial.SomeOf(t, map[string]func(*strategy.Strategy){
				"again":     same,
				"in pieces": func(s *strategy.Strategy) { s.MaxFrame = 4096 },
				"zstd":      func(s *strategy.Strategy) { s.Codec = "zstd" },
			}) {
				if other := of(p, change); !bytes.Equal(got, other) {
					t.Errorf("%s: weights differ by up to %g", name, trial.Distance(t, got, other))
				}
			}
		})
	}
}

const bulkDense, bulkRows, bulkDim = 32 * 1024, 300, 64

// bulky makes n steps that push much: dense gradients and wide rows, the same in each.
func bulky(ctx context.Context, o *trial.Objective, n int) error {
	w, ids := o.List[0], make([]uint64, bulkRows)
	for i := range w.G {
		w.G[i] = float32(math.Sin(float64(i)))
	}
	for i := range ids {
		ids[i] = uint64(i)
	}
	r := trial.RowsOf(o.List[1], ids)
	for i := range r.G {
		r.G[i] = float32(math.Cos(float64(i)))
	}
	return o.InSession(ctx, func(session optimizer.Session) error {
		for range n {
			if err := trial.Step(ctx, session, &optimizer.Step{Samples: 1, Rows: []optimizer.Rows{r}}, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// bytesOfStep is what a worker sends in a step, all messages counted.
func bytesOfStep(t *testing.T, s strategy.Strategy) float64 {
	t.Helper()
	sent := func(steps int) int64 {
		net := transport.NewMemory()
		c := fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: net}}
		var sent int64
		c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			o := &trial.Objective{List: []*optimizer.Param{trial.Dense("w", nil, bulkDense/64, 64), trial.Embedding("rows", nil, 0, bulkDim)}}
			return trial.Play(ctx, f, o, optimizer.SGD{LR: 0.1}, s, func() error {
				before := net.Stats().Sent
				if err := bulky(ctx, o, steps); err != nil {
					return err
				}
				sent = net.Stats().Sent - before
				return nil
			})
		})
		return sent
	}
	const n = 20
	return float64(sent(n)) / n
}

// TestNarrowPayloadsShrinkSteps counts the bytes that a worker sends.
func TestNarrowPayloadsShrinkSteps(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		whole := bytesOfStep(t, strategy.Strategy{Mode: mode})
		if least := 4. * (bulkDense + bulkRows*bulkDim); whole < least || whole > 1.05*least {
			t.Errorf("%s: a step of float32 sends %.0f bytes, its numbers are %.0f", mode, whole, least)
		}
		for payload, want := range map[strategy.Payload]float64{strategy.PayloadFloat16: 1.97, strategy.PayloadBFloat16: 1.97, strategy.PayloadInt8: 3.7} {
			narrow := bytesOfStep(t, strategy.Strategy{Mode: mode, Payload: payload})
			t.Logf("%s: %.0f bytes a step, %s %.0f: %.2f times less", mode, whole, payload, narrow, whole/narrow)
			if whole/narrow < want {
				t.Errorf("%s: %s sends %.2f times less than float32, want %.2f", mode, payload, whole/narrow, want)
			}
		}
	}
}
