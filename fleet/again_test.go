package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// TestASecondLifeMakesItsCollectivesAgain: a worker that is started again alone makes its collectives from the first on. It has the answers
// that its life before had, also from a server 0 that has come back since a checkpoint; what so much was brought to that it is not kept is
// refused, and never answered with nothing.
func TestASecondLifeMakesItsCollectivesAgain(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, returns := range []bool{false, true} {
		t.Run(fmt.Sprintf("server 0 has come back %t", returns), func(t *testing.T) {
			s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every, s.WaitTimeout = strategy.Duration(time.Hour), strategy.Duration(time.Minute)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(1, 2)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.CounterFor(s)
					life := func(number int) func(context.Context, *fleet.Fleet) error {
						return func(ctx context.Context, f *fleet.Fleet) error {
							return c.Play(ctx, f, s, func() error { return collectives(ctx, f, c, number) })
						}
					}
					switch {
					case f.IsServer() && returns:
						return lives(ctx, f, network, []time.Duration{10 * time.Second}, []time.Duration{time.Second}, life(1))
					case f.WorkerIndex() != 1:
						return life(1)(ctx, f)
					}
					first := make(chan error, 1)
					go func() { // what is left of a process that was killed ends later
						ended, err := live(ctx, f, network, 15*time.Second, life(1))
						if ended {
							err = fmt.Errorf("it was not killed: %w", err)
						}
						first <- err
					}()
					time.Sleep(17 * time.Second)
					_, err := live(ctx, f, network, 0, life(2))
					return errors.Join(err, <-first)
				}))
			})
		})
	}
}

// collectives are those of a worker, which in its second life misses the large one.
func collectives(ctx context.Context, f *fleet.Fleet, c *trial.Counter, life int) error {
	sum, err := f.AllReduce(ctx, []float64{float64(1 + f.WorkerIndex())}, fleet.Sum)
	if err != nil || len(sum) != 1 || sum[0] != 3 {
		return fmt.Errorf("the sum is %v, want 3: %w", sum, err)
	}
	large := bytes.Repeat([]byte{7}, 300_000)
	switch all, err := f.AllGatherBytes(ctx, large); {
	case life == 2 && (err == nil || !strings.Contains(err.Error(), "AllGatherBytes") || !strings.Contains(err.Error(), "not kept")):
		return fmt.Errorf("what was brought long ago is %d parts, error %v", len(all), err)
	case life == 1 && (err != nil || !bytes.Equal(all[0], large) || !bytes.Equal(all[1], large)):
		return fmt.Errorf("%d parts: %w", len(all), err)
	}
	if err := errors.Join(f.BarrierWorker(ctx), c.Train(ctx, 1)); err != nil {
		return err
	}
	if life == 1 && f.WorkerIndex() == 0 {
		if err := f.Checkpoint(ctx); err != nil {
			return err
		}
	}
	if life == 1 && !pause(ctx, 20*time.Second) {
		return context.Cause(ctx)
	}
	return f.BarrierWorker(ctx)
}
