package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestSavesUnderFaults has every worker save in the middle of training while messages are lost, repeated and late: training
// goes on to exact sums, and the last checkpoint is one cut: every value in it, on whichever server it was, counts the same
// steps.
func TestSavesUnderFaults(t *testing.T) {
	const steps, workers = 6, 3
	first, end := seeds(t, 4) // each syncs several files
	met := map[string]int{}
	for seed := first; seed < end; seed++ {
		for mode, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
			s = patient(s)
			t.Run(fmt.Sprintf("%s/%d", mode, seed), func(t *testing.T) {
				dir, total := t.TempDir(), float32(steps)
				if s.Mode == strategy.ModeAsync {
					total *= workers
				}
				underFaults(t, seed, workers, met, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return countAndSave(ctx, f, s, steps, total, dir)
				})
				fleettest.Run(t, 2, 1, func(ctx context.Context, f *fleet.Fleet) error {
					return readCut(ctx, f, s, dir, total/2, total)
				})
			})
		}
	}
	report(t, end-first, met)
}

func countAndSave(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, total float32, dir string) error {
	c := newCounter(5)
	trainer, err := c.join(ctx, f, s)
	if err != nil || trainer == nil {
		return err
	}
	for range 2 {
		if n := push(ctx, trainer, c, steps/2); n != steps/2 {
			return fmt.Errorf("worker %d came to step %d of %d", f.WorkerIndex(), n, steps/2)
		}
		if err := f.SavePersistables(ctx, dir); err != nil {
			return err
		}
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if err := c.between(ctx, total, total); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

// readCut starts from the checkpoint in dir and looks at what it holds.
func readCut(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, dir string, least, most float32) error {
	c := newCounter(5)
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(c); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, dir); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	if err := c.between(ctx, least, most); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

// between reads all values, which are to be the same number from least to most.
func (c *counter) between(ctx context.Context, least, most float32) error {
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	st := c.step(true)
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	for i, w := range append(append([]float32(nil), c.w.W...), st.Rows[0].W...) {
		if w < least || w > most || w != c.w.W[0] {
			return fmt.Errorf("value %d counts %v steps and value 0 %v, there were %v to %v", i, w, c.w.W[0], least, most)
		}
	}
	return session.Close(ctx)
}
