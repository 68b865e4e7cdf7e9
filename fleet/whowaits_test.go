package fleet_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// TestWhoWaitsIsToldForWhom: at default timeouts the log of a worker that waits at a barrier, or for its round, names
// the worker that it waits for within 30 s, and so does the error at the end of the wait.
func TestWhoWaitsIsToldForWhom(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		s    strategy.Strategy
		does func(context.Context, *fleet.Fleet, *trial.Counter) error
		says string
	}{
		"barrier": {strategy.Async(), func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter) error {
			return f.BarrierWorker(ctx)
		}, "at BarrierWorker: missing"},
		"round": {strategy.Sync(), func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			return c.Train(ctx, 2)
		}, "for round"},
		"ssp": {strategy.Strategy{Mode: strategy.ModeSSP}, func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			return c.Train(ctx, 100)
		}, "for round"},
	} {
		t.Run(name, func(t *testing.T) {
			var log trial.Log
			cluster := fleettest.Cluster{Servers: 2, Workers: 3}
			cluster.Options.Logger = log.Logger()
			cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				_ = trial.Counters(1, k.s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					if f.WorkerIndex() == 2 {
						time.Sleep(time.Hour)
						return errors.New("it sleeps")
					}
					if f.WorkerIndex() == 0 {
						time.AfterFunc(30*time.Second, func() {
							for _, line := range log.Lines("still waiting for a server") {
								if strings.Contains(line, k.says) && strings.Contains(line, "worker 2 (") {
									return
								}
							}
							t.Errorf("after 30 s the log says %q, want %q and worker 2", log.Lines("still waiting"), k.says)
						})
					}
					err := k.does(ctx, f, c)
					if err == nil || !strings.Contains(err.Error(), "worker 2 (") {
						t.Errorf("worker %d was told %v, want worker 2", f.WorkerIndex(), err)
					}
					return err
				})(ctx, f) // each role ends with an error
				return nil
			})
		})
	}
}
