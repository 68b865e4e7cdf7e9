package fleet_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestAWorkerThatNeverComes: a server waits for it as long as the strategy says, and then ends the job, which names it.
func TestAWorkerThatNeverComes(t *testing.T) {
	for _, limit := range []time.Duration{40 * time.Second, 20 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := strategy.Sync()
			s.StartTimeout, s.WaitTimeout = strategy.Duration(limit), strategy.Duration(time.Hour)
			began := time.Now()
			errs := fleettest.Cluster{Servers: 1, Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				if f.WorkerIndex() == 1 {
					return nil
				}
				return train(ctx, f, optimizer.SGD{LR: 0.1}, s, 3, nil)
			})
			if took := time.Since(began); took < limit || took > limit+limit/4 {
				t.Errorf("the job took %v, the strategy waits %v", took, limit)
			}
			for _, role := range []string{"server 0", "worker 0"} {
				if err := errs[role]; err == nil || !strings.Contains(err.Error(), "worker 1 (has not joined)") {
					t.Errorf("%s: %v, want worker 1 to be missing", role, err)
				}
			}
		})
	}
}
