package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestWhereClipsAct has two workers make one step by gradient descent of rate 0.1, with gradients of 3 and 0.5 of a weight of 1
// that are clipped to 1: in sync their mean is, elsewhere what each worker pushes or, where copies are averaged, applies to its
// own. The original clips on the worker in every mode, and has 0.925 in sync.
func TestWhereClipsAct(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, c := range []struct {
		servers int
		s       strategy.Strategy
		want    float64
	}{
		{2, strategy.Sync(), 0.9},
		{0, strategy.Sync(), 0.9},
		{0, strategy.Strategy{LocalSGD: strategy.LocalSGD{KSteps: 1}}, 0.925},
		{2, strategy.Async(), 0.85},
		{2, strategy.HalfAsync(), 0.85},
		{2, strategy.SSP(0), 0.85},
		{2, strategy.Geo(1), 0.85},
	} {
		for _, rule := range []optimizer.Rule{
			optimizer.ClipByValue{Rule: optimizer.SGD{LR: 0.1}, Max: 1}, optimizer.ClipByNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 1},
			optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 1},
		} {
			t.Run(fmt.Sprintf("%s, %d servers, local %d, %T", c.s.Mode, c.servers, c.s.LocalSGD.KSteps, rule), func(t *testing.T) {
				fleettest.Run(t, c.servers, 2, func(ctx context.Context, f *fleet.Fleet) error {
					return clippedStep(ctx, f, rule, c.s, c.want)
				})
			})
		}
	}
}

// clippedStep is the program of a role that makes that step and compares.
func clippedStep(ctx context.Context, f *fleet.Fleet, rule optimizer.Rule, s strategy.Strategy, want float64) error {
	g := trial.NewGiven(1)
	return trial.Play(ctx, f, g, rule, s, func() error {
		if _, err := g.Step(ctx, 1, [2]float32{3, 0.5}[f.WorkerIndex()]); err != nil {
			return err
		}
		if err := errors.Join(g.Session.Close(ctx), g.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		return g.InSession(ctx, func(session optimizer.Session) error {
			if err := trial.Look(ctx, session); err != nil {
				return err
			}
			if w := g.W.W[0]; math.Abs(float64(w)-want) > 1e-6 {
				return fmt.Errorf("the weight is %v, want %v", w, want)
			}
			return nil
		})
	})
}
