package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestEvaluationsLeaveTheCompensation: a gradient g is compensated by g·g·(w−b), b being the weights that its step began with, whatever was
// evaluated meanwhile, by whom, or before. Worker 0 computes each gradient while worker 1 moves the weight by -0.5.
func TestEvaluationsLeaveTheCompensation(t *testing.T) {
	t.Parallel()
	const rate, far = 0.1, 0.5
	for _, evaluates := range []string{"never", "in the middle", "before, itself", "between epochs"} {
		t.Run(evaluates, func(t *testing.T) {
			begun, moved := make(chan struct{}), make(chan struct{})
			fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
				m := trial.NewGiven(1)
				return trial.Play(ctx, f, m, optimizer.SGD{LR: rate}, strategy.Strategy{Mode: strategy.ModeAsync, DelayCompensation: 1}, func() error {
					another := trial.NewGiven(1)
					look, err := m.Trainer.Open(another.List)
					if err == nil {
						m.Session, err = m.OpenSession()
					}
					if err != nil {
						return err
					}
					want := 1.0
					for range 3 {
						if f.WorkerIndex() == 1 {
							<-begun
							if _, err := m.Step(ctx, 1, far/rate); err != nil {
								return err
							}
							if err := m.Trainer.EndEpoch(ctx); err != nil {
								return err
							}
							moved <- struct{}{}
							continue
						}
						if evaluates == "before, itself" {
							if _, err := m.Weights(ctx); err != nil {
								return err
							}
						}
						st := &optimizer.Step{Samples: 1}
						if err := m.Session.Begin(ctx, st); err != nil {
							return err
						}
						b := float64(m.W.W[0])
						begun <- struct{}{}
						<-moved
						if evaluates == "in the middle" {
							if err := trial.Look(ctx, look); err != nil {
								return err
							}
						}
						m.W.G[0] = 1
						if err := m.Session.End(ctx, st); err != nil {
							return err
						}
						if evaluates == "between epochs" {
							if err := errors.Join(m.Trainer.EndEpoch(ctx), trial.Look(ctx, look)); err != nil {
								return err
							}
						}
						want -= far
						want -= rate * (1 + want - b)
					}
					if f.WorkerIndex() == 1 {
						return nil
					}
					if err := m.Trainer.EndEpoch(ctx); err != nil {
						return err
					}
					got, err := m.Weights(ctx)
					if err == nil && !trial.Near(float64(got[0]), want, 1e-5) {
						err = fmt.Errorf("the weight is %v, want %v", got[0], want)
					}
					return err
				})
			})
		})
	}
}
