package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// TestALateLifeIsAskedToEnd: a worker that was started again alone is asked to end before it has met the others, which know more of the
// job. They live and save, and it saves nothing. Where they have ended, it does.
func TestALateLifeIsAskedToEnd(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo} {
		for _, others := range []bool{true, false} {
			s := trial.Patient(strategy.Strategy{Mode: mode})
			s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}
			says := func(f *fleet.Fleet, who string) error { return f.SetProgress(fleet.Progress{User: []byte(who)}) }
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.CounterFor(s)
					if f.WorkerIndex() != 0 {
						return c.Play(ctx, f, s, func() error {
							err := errors.Join(says(f, "it went on"), c.Train(ctx, 3))
							time.Sleep(12 * time.Second)
							if others {
								time.Sleep(2 * time.Minute)
							}
							return err
						})
					}
					first := make(chan struct{})
					go func() { // what is left of a process that was killed ends later
						defer close(first)
						live(ctx, f, network, 2*time.Second, func(ctx context.Context, f *fleet.Fleet) error {
							return c.Play(ctx, f, s, func() error { return errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx)) })
						})
					}()
					time.Sleep(4 * time.Second)
					told, end := context.WithCancelCause(ctx)
					live(told, f, network, 0, func(ctx context.Context, f *fleet.Fleet) error {
						c := trial.CounterFor(s)
						return c.Play(ctx, f, s, func() error {
							err := errors.Join(says(f, "a late one"), c.Train(ctx, 1))
							time.Sleep(20 * time.Second)
							end(errTerminated)
							return errors.Join(err, context.Cause(ctx))
						})
					})
					saved, err := checkpoints.Latest(s.Recovery.Dir)
					if late := err == nil && string(saved.Progress.User) == "a late one"; late == others {
						t.Errorf("%s, others live %t: saved is %q, error %v", mode, others, saved.Progress.User, err)
					}
					<-first
					return nil
				})
				if err := errs["worker 1"]; err != nil {
					t.Error(err)
				}
			})
		}
	}
}
