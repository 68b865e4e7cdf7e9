package fleet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// impatient is a strategy that waits for other workers no longer than until one that is silent counts as dead.
func impatient(s strategy.Strategy) strategy.Strategy {
	s.HeartbeatInterval, s.WorkerTimeout = strategy.Duration(20*time.Second), strategy.Duration(time.Minute)
	s.WaitTimeout = s.WorkerTimeout
	return s
}

// TestTheLastWorkerLeavesAtOnce: servers that end tell each other that the last worker has stopped. It does not wait
// for them to come back, although their journals say that they may.
//
// Promise: [G1] the last worker to leave waits for no server that has ended; a next life waits out the one before,
// whatever WaitTimeout is
// Also: TestANextLifeOutwaitsTheOneBefore
func TestTheLastWorkerLeavesAtOnce(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		s, err := strategy.Named(string(mode))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		s.Recovery = strategy.Recovery{Dir: dir + "/checkpoints", Journal: strategy.JournalProcess, JournalDir: dir + "/journal"}
		x := trial.Trial{Place: trial.Place{Name: string(mode), Mode: mode, Servers: 5, Workers: 1}, Strategy: impatient(s)}
		if took := x.Works(t).When["worker 0"]; took > 10*time.Second {
			t.Errorf("%s: a step took its worker %v", mode, took)
		}
	}
}

// TestANextLifeOutwaitsTheOneBefore: a worker that is started again at once waits until the life before has missed
// heartbeats, also if that takes longer than workers wait for each other.
func TestANextLifeOutwaitsTheOneBefore(t *testing.T) {
	t.Parallel()
	s := impatient(strategy.Async())
	s.WaitTimeout /= 2
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(1, 1)
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := trial.CounterFor(s)
			play := func(ctx context.Context, f *fleet.Fleet) error {
				return c.Play(ctx, f, s, func() error {
					if err := c.Train(ctx, 1); err != nil {
						return err
					}
					return c.Holds(ctx, 2)
				})
			}
			if f.IsServer() {
				return play(ctx, f)
			}
			first := make(chan error, 1)
			killed := make(chan struct{})
			go func() { // what is left of a process that was killed ends later
				_, err := live(ctx, f, network, 10*time.Second, func(ctx context.Context, f *fleet.Fleet) error {
					return c.Play(ctx, f, s, func() error {
						err := c.Train(ctx, 1)
						<-ctx.Done()
						close(killed)
						return errors.Join(err, context.Cause(ctx))
					})
				})
				first <- err
			}()
			<-killed
			c = trial.CounterFor(s)
			_, err := live(ctx, f, network, 0, play)
			return errors.Join(err, <-first)
		}))
	})
}
