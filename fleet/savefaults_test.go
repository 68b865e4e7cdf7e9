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
	"github.com/gofleet/gofleet/transport"
)

// TestSavesUnderFaults has every worker save in the middle of training while messages are lost, repeated and late: training
// goes on to exact sums, and the last checkpoint is one cut: every value in it, on whichever server it was, counts the same
// steps.
func TestSavesUnderFaults(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const steps, workers = 6, 3
	trial.EachSeed(t, 4, func(seed trial.Seed) { // each syncs several files
		for mode, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
			s = trial.Patient(s)
			t.Run(fmt.Sprintf("%s/%d", mode, seed.N), func(t *testing.T) {
				dir, total := t.TempDir(), float32(steps)
				if s.Mode == strategy.ModeAsync {
					total *= workers
				}
				seed.Simulate(t, workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					c := trial.NewCounter(5)
					return c.Play(ctx, f, s, func() error {
						for range 2 {
							if err := errors.Join(c.Train(ctx, steps/2), f.SavePersistables(ctx, dir)); err != nil {
								return fmt.Errorf("worker %d: %w", f.WorkerIndex(), err)
							}
						}
						if err := f.BarrierWorker(ctx); err != nil {
							return err
						}
						return c.Holds(ctx, total)
					})
				})
				fleettest.Run(t, 2, 1, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(5)
					if err := trial.Minimize(f, c, optimizer.SGD{LR: 1}, s); err != nil {
						return err
					}
					return trial.Begin(ctx, f, dir, func() error {
						values, err := c.Values(ctx)
						if err != nil {
							return err
						}
						if steps := values[0]; steps < total/2 || steps > total {
							return fmt.Errorf("the checkpoint counts %v steps, there were %v to %v", steps, total/2, total)
						}
						return trial.AllAre(values, values[0])
					})
				})
			})
		}
	})
}
