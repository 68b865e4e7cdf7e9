package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestEveryPushCountsOnce loses, repeats, delays, reorders, cuts and damages messages by seed, and leaves some unanswered:
// afterwards the sums are exact. FLEET_SEEDS=10000 runs that many schedules; FLEET_SEED=n runs the one that failed.
func TestEveryPushCountsOnce(t *testing.T) {
	const steps, workers = 8, 3
	// Modes that share most of their way with sync and async take turns.
	rarer := []strategy.Strategy{strategy.HalfAsync(), strategy.SSP(1), {MaxMergeVarNum: 8, SendQueueSize: 3, MaxFrame: 8192},
		{ThreadPoolSize: 3, SendQueueSize: 8, MaxFrame: 8192}}
	trial.EachSeed(t, 24, func(seed trial.Seed) {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), {Mode: strategy.ModeSync, MaxFrame: 4096}, trial.Measured,
			{MaxFrame: 4096}, rarer[seed.N%uint64(len(rarer))]} {
			s = trial.Patient(s)
			want := float32(steps * workers)
			if s.Mode == strategy.ModeSync {
				want = steps // a round averages its workers' gradients, so it counts once
			}
			t.Run(fmt.Sprintf("%s/%d/%d", s.Mode, s.MaxFrame, seed.N), func(t *testing.T) {
				seed.Simulate(t, workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return trial.Count(ctx, f, s, steps, want)
				})
			})
		}
	})
}

// TestASeedReplays runs every seed twice: all that is sent meets the same faults in both runs, to the last heartbeat.
func TestASeedReplays(t *testing.T) {
	trial.EachSeed(t, 6, func(seed trial.Seed) {
		for _, s := range []strategy.Strategy{strategy.Sync(), {MaxFrame: 4096}} {
			s = trial.Patient(s)
			t.Run(fmt.Sprintf("%s/%d", s.Mode, seed.N), func(t *testing.T) {
				want := float32(8)
				if s.Mode != strategy.ModeSync {
					want *= 3
				}
				run := func() map[string]int {
					return seed.Simulate(t, 3, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
						return trial.Count(ctx, f, s, 8, want)
					})
				}
				if first, second := run(), run(); !maps.Equal(first, second) {
					t.Errorf("two runs of a seed met %v and %v", first, second)
				}
			})
		}
	})
}
