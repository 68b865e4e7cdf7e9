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
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// TestSchedulesGoOnInGeo: a schedule counts the updates that each worker has made of its copy, also behind a checkpoint, on other numbers
// of servers and workers, in geo, from it and into it. The rate is 1 for five updates and 0.125 from then on; every gradient is -1.
func TestSchedulesGoOnInGeo(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	rule := optimizer.SGD{Schedule: lr.PiecewiseDecay{Boundaries: []int64{5}, Values: []float64{1, 0.125}}}
	leg := func(t *testing.T, s strategy.Strategy, servers, workers, steps int, from, to string) (moved float32) {
		var began, ended float32
		fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
			c := trial.NewCounter(3)
			if err := trial.Minimize(f, c, rule, s); err != nil {
				return err
			}
			return trial.Begin(ctx, f, from, func() error {
				look := func(to *float32) error {
					if !f.IsFirstWorker() {
						return f.BarrierWorker(ctx)
					}
					return errors.Join(c.InSession(ctx, func(s optimizer.Session) error {
						defer func() { *to = c.W.W[0] }()
						return trial.Look(ctx, s, trial.RowsOf(c.Rows, nil))
					}), f.BarrierWorker(ctx))
				}
				if err := errors.Join(look(&began), c.Train(ctx, steps), c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx), look(&ended)); err != nil {
					return err
				}
				if to != "" && f.IsFirstWorker() {
					return f.SavePersistables(ctx, to)
				}
				return nil
			})
		})
		return ended - began
	}
	geo := func(k int) strategy.Strategy { return strategy.Strategy{Mode: strategy.ModeGeo, KSteps: k} }
	sync := strategy.Sync()
	for i, c := range []struct {
		first, then        strategy.Strategy
		workers, afterward int
	}{
		{geo(1), geo(1), 1, 1}, {geo(2), geo(3), 1, 1}, {geo(4), geo(4), 3, 3}, {geo(1), geo(1), 2, 3}, {geo(2), geo(2), 3, 1},
		{geo(2), sync, 2, 2}, {sync, geo(2), 2, 3}, {geo(2), sync, 1, 1},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			dir := t.TempDir()
			moves := func(s strategy.Strategy, workers int, rates float32) float32 {
				if s.Mode == strategy.ModeSync {
					return rates
				}
				return rates * float32(workers)
			}
			if got, want := leg(t, c.first, 2, c.workers, 3, "", dir), moves(c.first, c.workers, 3); !trial.Near(float64(got), float64(want), 1e-5) {
				t.Errorf("three steps move a weight by %v, want %v", got, want)
			}
			servers := 1
			if c.then.Mode == strategy.ModeSync && c.afterward == 1 {
				servers = 0
			}
			if got, want := leg(t, c.then, servers, c.afterward, 4, dir, ""), moves(c.then, c.afterward, 2.25); !trial.Near(float64(got), float64(want), 1e-5) {
				t.Errorf("the next four move it by %v, want %v", got, want)
			}
		})
	}
}

// TestALoadBringsItsSchedule to workers that train copies: those go on behind its updates, whoever has loaded it.
func TestALoadBringsItsSchedule(t *testing.T) {
	t.Parallel()
	rule := optimizer.SGD{Schedule: lr.PiecewiseDecay{Boundaries: []int64{5}, Values: []float64{1, 0.125}}}
	dir := t.TempDir()
	fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(3)
		return trial.Play(ctx, f, c, rule, strategy.Geo(2), func() error {
			return c.InSession(ctx, func(s optimizer.Session) error {
				for round := range 3 {
					if err := errors.Join(c.Steps(ctx, s, 3), f.BarrierWorker(ctx)); err != nil {
						return err
					}
					if round == 0 {
						if err := f.SavePersistables(ctx, dir); err != nil {
							return err
						}
					} else if f.IsFirstWorker() { // behind steps 4 to 6, of which 4 and 5 are whole
						if err := f.LoadModel(ctx, dir); err != nil {
							return err
						}
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
				}
				if err := errors.Join(c.Steps(ctx, s, 3), f.BarrierWorker(ctx)); err != nil {
					return err
				}
				values, err := c.Seen(ctx, s)
				if err == nil && !trial.Near(float64(values[0]), 2*(3+1+1+.125), 1e-5) {
					err = fmt.Errorf("a weight has moved by %v, want 10.25", values[0])
				}
				return err
			})
		})
	})
}
