package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestThreadsComeAndGo has a thread of mode half_async train on and on, while others of its worker open sessions, train a step
// and close them: nobody sees weights of which a part has moved on.
func TestThreadsComeAndGo(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, 1, 1, trial.Counters(1<<16, strategy.HalfAsync(), func(ctx context.Context, _ *fleet.Fleet, first *trial.Counter) error {
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = comeAndGo(ctx, first.Trainer, 12, max(1, 12*(1-i))) })
		}
		wg.Wait()
		return errors.Join(errs...)
	}))
}

// comeAndGo trains some steps, so many in each session.
func comeAndGo(ctx context.Context, trainer optimizer.Trainer, steps, each int) error {
	for range steps / each {
		c := trial.NewCounter(1 << 16)
		c.IDs = nil
		c.Bind(trainer)
		session, err := c.OpenSession()
		if err != nil {
			return err
		}
		for range each {
			st := c.Step()
			if err := session.Begin(ctx, st); err != nil {
				return err
			}
			if err := trial.AllAre(c.W.W, c.W.W[0]); err != nil {
				return err
			}
			if err := session.End(ctx, st); err != nil {
				return err
			}
		}
		if err := session.Close(ctx); err != nil {
			return err
		}
	}
	return nil
}
