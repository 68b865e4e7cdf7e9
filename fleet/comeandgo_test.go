package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestThreadsComeAndGo has a thread of mode half_async train on and on, while others of its worker open sessions, train a step and close
// them: nobody sees weights of which a part has moved on.
func TestThreadsComeAndGo(t *testing.T) {
	fleettest.Run(t, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
		trainer, err := newCounter(1<<16).join(ctx, f, strategy.HalfAsync())
		if err != nil || trainer == nil {
			return err
		}
		errs := make([]error, 3)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = comeAndGo(ctx, trainer, 12, max(1, 12*(1-i))) })
		}
		wg.Wait()
		return errors.Join(errors.Join(errs...), f.StopWorker(ctx))
	})
}

// comeAndGo trains some steps, so many in each session.
func comeAndGo(ctx context.Context, trainer optimizer.Trainer, steps, each int) error {
	for range steps / each {
		c := newCounter(1 << 16)
		session, err := trainer.Open(c.Params())
		if err != nil {
			return err
		}
		for range each {
			st := c.step(false)
			st.Rows[0] = optimizer.Rows{Param: c.rows}
			if err := session.Begin(ctx, st); err != nil {
				return err
			}
			for i, w := range c.w.W {
				if w != c.w.W[0] {
					return fmt.Errorf("weight %d counts %v pushes, the first %v", i, w, c.w.W[0])
				}
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
