package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestGradientsThatAreNotFinite pushes NaN and infinities under every policy, in every mode: what is skipped or clipped
// leaves no trace beside itself.
func TestGradientsThatAreNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	bad := func(c *counter) *optimizer.Step {
		st := c.step(false)
		copy(c.w.G, []float32{nan, -2, inf})
		copy(st.Rows[0].G, []float32{-1, -1, -3, -inf, nan, nan}) // ids 0, 1 and 2, in units of 1<<32
		return st
	}
	want := map[strategy.NotFinite][2][]float32{
		strategy.NotFiniteSkip: {{0, 0, 0}, {1, 1, 0, 0, 0, 0}},
		strategy.NotFiniteClip: {{0, 2, -2}, {1, 1, 3, 3, 0, 0}},
	}
	for _, mode := range strategy.Modes() {
		for policy, want := range want {
			t.Run(fmt.Sprintf("%s/%s", mode, policy), func(t *testing.T) {
				program := oneStep(strategy.Strategy{Mode: mode, NotFinite: policy}, bad, want)
				fleettest.Run(t, 2, 1, program)
			})
		}
		t.Run(fmt.Sprintf("%s/refuse", mode), func(t *testing.T) {
			errs := fleettest.Cluster{Servers: 1, Workers: 1}.Errors(t, oneStep(strategy.Strategy{Mode: mode}, bad, [2][]float32{}))
			checkNamed(t, errs["worker 0"])
		})
	}
	for policy, want := range want {
		t.Run(fmt.Sprintf("alone/%s", policy), func(t *testing.T) {
			fleettest.Run(t, 0, 1, oneStep(strategy.Strategy{NotFinite: policy}, bad, want))
		})
		t.Run(fmt.Sprintf("collective/%s", policy), func(t *testing.T) {
			fleettest.Run(t, 0, 2, oneStep(strategy.Strategy{NotFinite: policy}, bad, want))
		})
		t.Run(fmt.Sprintf("localsgd/%s", policy), func(t *testing.T) {
			s := strategy.Strategy{NotFinite: policy, LocalSGD: strategy.LocalSGD{KSteps: 1}}
			fleettest.Run(t, 0, 2, func(ctx context.Context, f *fleet.Fleet) error { return oneDrift(ctx, f, s, bad, want[0]) })
		})
	}
	t.Run("alone/refuse", func(t *testing.T) {
		fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
			c := newCounter(3)
			trainer, err := c.join(ctx, f, strategy.Async())
			if err != nil {
				return err
			}
			session, err := trainer.Open(c.Params())
			if err != nil {
				return err
			}
			st := bad(c)
			if err := session.Begin(ctx, st); err != nil {
				return err
			}
			checkNamed(t, session.End(ctx, bad(c)))
			checkNamed(t, session.Begin(ctx, st)) // the session is over, and still says why
			return f.StopWorker(ctx)
		})
	})
}

// oneDrift is the program of a worker whose copy of the weights makes one step of its own and meets the others'.
func oneDrift(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, step func(*counter) *optimizer.Step, want []float32) error {
	c := newCounter(3)
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(weights{c}); err != nil {
		return err
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	session, err := c.trainer.Open(weights{c}.Params())
	if err != nil {
		return err
	}
	st := step(c)
	st.Rows = nil
	if err := errors.Join(session.Begin(ctx, st), session.End(ctx, st)); err != nil {
		return err
	}
	st = c.step(true)
	st.Rows = nil
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	if !slices.Equal(c.w.W, want) {
		return fmt.Errorf("weights are %v, want %v", c.w.W, want)
	}
	if got, want := f.Counts(), (fleet.Counts{Steps: 1, NotFinite: 1}); got != want {
		return fmt.Errorf("counts are %+v, want %+v", got, want)
	}
	return errors.Join(session.Close(ctx), f.StopWorker(ctx))
}

// checkNamed checks that the gradient that is not finite is named.
func checkNamed(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), `gradient of "w" is NaN at element 0`) {
		t.Errorf("got %v", err)
	}
}

// oneStep is the program of a worker that makes one step and reads what became of it.
func oneStep(s strategy.Strategy, step func(*counter) *optimizer.Step, want [2][]float32) fleettest.Program {
	return func(ctx context.Context, f *fleet.Fleet) error {
		c := newCounter(3)
		trainer, err := c.join(ctx, f, s)
		if err != nil || trainer == nil {
			return err
		}
		session, err := trainer.Open(c.Params())
		if err != nil {
			return err
		}
		defer f.StopWorker(ctx)
		st := step(c)
		if err := session.Begin(ctx, st); err != nil {
			return err
		}
		st = step(c)
		if err := session.End(ctx, st); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		st = c.step(true)
		if err := session.Begin(ctx, st); err != nil {
			return err
		}
		if got := [2][]float32{c.w.W, st.Rows[0].W}; !slices.Equal(got[0], want[0]) || !slices.Equal(got[1], want[1]) {
			return fmt.Errorf("weights and rows are %v, want %v", got, want)
		}
		rows := int64(3)
		if s.NotFinite == strategy.NotFiniteSkip {
			rows = 1
		}
		got, want := f.Counts(), fleet.Counts{Steps: 1, Rows: rows, NotFinite: 3}
		if got.Pushes = 0; got != want { // pushes are counted where their staleness is known
			return fmt.Errorf("counts are %+v, want %+v", got, want)
		}
		return session.Close(ctx)
	}
}
