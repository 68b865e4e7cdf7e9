package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// TestEveryPushCountsOnceOverBrokenLines trains over TCP connections that break after a few messages, by seed: sums are exact.
func TestEveryPushCountsOnceOverBrokenLines(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	const steps, workers = 8, 3
	for _, seed := range trial.Some(t, []uint64{0, 1, 2, 3}) {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
			s = s.WithDefaults()
			t.Run(fmt.Sprintf("%s/%d", s.Mode, seed), func(t *testing.T) {
				want := float32(steps) // a round of sync averages its workers' gradients, so it counts once
				if s.Mode == strategy.ModeAsync {
					want *= workers
				}
				lines := transporttest.NewRelayed(&transport.FastHTTP{}, seed, transporttest.LineFaults{Cut: 0.8, Within: 4000})
				cluster := fleettest.Cluster{Servers: 2, Workers: workers, Endpoints: porttest.Free(t, 2), Options: fleet.Options{Transport: lines}}
				cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error { return trial.Count(ctx, f, s, steps, want) })
				t.Logf("faults: %v", lines.Counts())
			})
		}
	}
}
