package fleet_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/ui"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestStuckJobsAreNamed: jobs that are stuck, or slow, each in its way, have findings that name who is the cause. A disk that is full is a line of a log: TestPanel of fleetrun, TestAFullDiskOnAPage.
func TestStuckJobsAreNamed(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type work = func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error
	for name, k := range map[string]struct {
		strategy strategy.Strategy
		slow     string // a server whose answers take a while
		work     work
		want     string
	}{
		"barrier": {strategy.Sync(), "", func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			if f.WorkerIndex() == 1 {
				time.Sleep(30 * time.Second)
			}
			return f.BarrierWorker(ctx)
		}, "server 0 has waited for worker 1 for 1"},
		"a round": {strategy.Sync(), "", func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			if f.WorkerIndex() == 1 {
				time.Sleep(30 * time.Second)
			}
			return errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx))
		}, "has waited for worker 1 for 1"},
		"SSP": {strategy.Strategy{Mode: strategy.ModeSSP}, "", func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			err := c.Train(ctx, 2)
			if f.WorkerIndex() == 1 {
				time.Sleep(30 * time.Second)
			}
			return errors.Join(err, c.Train(ctx, 100), f.BarrierWorker(ctx))
		}, "has waited for worker 1 for 1"},
		"a slow server": {strategy.Async(), "server-1", func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			return errors.Join(c.Train(ctx, 300), f.BarrierWorker(ctx))
		}, "server 1 is slow: workers wait 201ms for each answer of it, and 1ms for the fastest other's"},
		"a dead worker": {strategy.Async(), "", func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			if err := c.Train(ctx, 2); err != nil || f.WorkerIndex() == 1 {
				return errors.Join(err, errLost)
			}
			time.Sleep(time.Minute)
			return f.BarrierWorker(ctx)
		}, "Lost: worker 1."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := new(crowd)
			listen := func(below transport.Transport) transport.Transport {
				return &trial.Tap{Transport: below, Before: func(to string, _ [][]byte) error {
					if time.Sleep(time.Millisecond); k.slow != "" && strings.HasPrefix(to, k.slow) {
						time.Sleep(200 * time.Millisecond)
					}
					return nil
				}}
			}
			var found []ui.Finding
			plays := trial.Counters(3, k.strategy, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				var looking sync.WaitGroup
				if f.WorkerIndex() == 0 {
					looking.Go(func() {
						wait := 10 * time.Second
						if name == "a dead worker" {
							wait = 50 * time.Second
						}
						_, found = o.watches(int(wait/time.Second) + 2)
					})
				}
				defer looking.Wait()
				return k.work(ctx, f, c)
			})
			trial.Cluster(2, 2).Simulate(t, listen, func(ctx context.Context, f *fleet.Fleet) error {
				defer o.of(f)()
				if err := plays(ctx, f); err != nil && name != "a dead worker" {
					return err
				}
				return nil
			})
			if len(found) == 0 || !strings.Contains(found[0].What, k.want) || found[0].Do == "" {
				t.Errorf("found %+v, want %s", found, k.want)
			}
		})
	}
}
