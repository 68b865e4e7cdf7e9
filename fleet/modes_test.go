package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestModesWithoutRoundsCountEveryPush trains with every choice of the modes in which each push is an update: with plain
// gradient descent and sums, the weights count the steps of all workers whatever was merged or overtaken.
func TestModesWithoutRoundsCountEveryPush(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const steps, workers = 30, 3
	for name, s := range map[string]strategy.Strategy{
		"async":          strategy.Async(),
		"merged":         {MaxMergeVarNum: 8, SendQueueSize: 3},
		"merged, slowly": {MaxMergeVarNum: 4, SendWaitTimes: 1},
		"many requests":  {ThreadPoolSize: 3, SendQueueSize: 8},
		"own receiver":   {IndependentRecvThread: true, MinSendGradNumBeforeRecv: 3},
		"seldom":         {MinSendGradNumBeforeRecv: 7},
		"half async":     strategy.HalfAsync(),
		"in step":        strategy.SSP(0),
		"stale":          strategy.SSP(4),
	} {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, 2, workers, func(ctx context.Context, f *fleet.Fleet) error {
				return trial.Count(ctx, f, s.WithDefaults(), steps, steps*workers)
			})
		})
	}
}

// TestStaleness lets worker 1 dawdle and watches how far worker 0 gets ahead.
func TestStaleness(t *testing.T) {
	t.Parallel()
	const steps = 12
	for _, bound := range []int{0, 3} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			var ended [2]atomic.Int64
			var farthest atomic.Int64
			trial.Cluster(2, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				c, w := trial.NewCounter(3), f.WorkerIndex()
				return c.Play(ctx, f, strategy.SSP(bound), func() error {
					session, err := c.OpenSession()
					if err != nil {
						return err
					}
					for range steps {
						err := trial.Step(ctx, session, c.Step(), func() {
							if ahead := ended[0].Load() - ended[1].Load(); w == 0 && ahead > farthest.Load() {
								farthest.Store(ahead)
							}
							if w == 1 {
								time.Sleep(time.Millisecond) // of virtual time: the test needs no more than that it is slower
							}
						})
						if err != nil {
							return err
						}
						ended[w].Add(1)
					}
					return c.Trainer.EndEpoch(ctx)
				})
			})
			// The servers know of an ended step a moment before this test does.
			if got := farthest.Load(); got > int64(bound)+1 || got < min(int64(bound), 1) {
				t.Errorf("worker 0 was %d steps ahead, the bound is %d", got, bound)
			}
		})
	}
}

// TestThreadsMeet trains with two threads a worker in mode half_async: their gradients are averaged into one push, so a step of
// both counts once, and both go on with the same weights.
func TestThreadsMeet(t *testing.T) {
	t.Parallel()
	const steps, workers = 10, 2
	for merge, want := range map[strategy.Merge]float32{strategy.MergeMean: steps * workers, strategy.MergeSum: 2 * steps * workers} {
		t.Run(string(merge), func(t *testing.T) {
			s := strategy.HalfAsync()
			s.Merge = merge
			fleettest.Run(t, 2, workers, func(ctx context.Context, f *fleet.Fleet) error {
				first, second := trial.NewCounter(4), trial.NewCounter(4)
				return first.Play(ctx, f, s, func() error {
					second.Bind(first.Trainer)
					if err := trainTogether(ctx, steps, first, second); err != nil {
						return err
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
					return first.Holds(ctx, want)
				})
			})
		})
	}
}

// trainTogether makes steps in threads, none of which ends a step before all have begun one: who has not is not waited for.
func trainTogether(ctx context.Context, steps int, threads ...*trial.Counter) error {
	errs, sessions := make([]error, len(threads)), make([]optimizer.Session, len(threads))
	for i, c := range threads {
		if sessions[i], errs[i] = c.OpenSession(); errs[i] != nil {
			return errs[i]
		}
	}
	var wg, begun sync.WaitGroup
	begun.Add(len(threads))
	for i, c := range threads {
		wg.Go(func() {
			meet := sync.OnceFunc(func() { begun.Done(); begun.Wait() })
			errs[i] = trial.Step(ctx, sessions[i], c.Step(), meet)
			if meet(); errs[i] == nil {
				errs[i] = c.Steps(ctx, sessions[i], steps-1)
			}
			if errs[i] == nil {
				errs[i] = sessions[i].Close(ctx)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// TestGeoSumsUnderFaults has two workers count steps on their copies while the network loses, repeats and reorders messages:
// halves of whole numbers are exact, so the servers come to the exact sum.
func TestGeoSumsUnderFaults(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const steps, workers = 20, 2
	trial.EachSeed(t, 8, func(seed trial.Seed) {
		for _, frame := range []int{0, 4096} {
			t.Run(fmt.Sprintf("%d/%d", frame, seed.N), func(t *testing.T) {
				s := strategy.Geo(3)
				s.MaxFrame = frame
				seed.Simulate(t, workers, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return trial.Count(ctx, f, trial.Patient(s), steps, steps*workers)
				})
			})
		}
	})
}
