package fleet_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAnAskedServerWaitsForNoneThatIsGone: a server was killed and its name is gone with it, as a pod's is, which proves nothing of a process by
// itself; a server that is asked to end then ends within seconds, and all go back, where a checkpoint can't be had of all.
//
// Promise: [G5] a server that is asked to end waits three heartbeats at most for another that is gone
func TestAnAskedServerWaitsForNoneThatIsGone(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			job := trial.Jobs(t)[string(mode)]
			job.Strategy.Recovery.Dir = t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				var gone atomic.Bool
				cluster.Options.Transport = &trial.Tap{Transport: network, Before: func(endpoint string, _ [][]byte) error {
					if gone.Load() && endpoint == cluster.Endpoints[1] {
						return fmt.Errorf("%w: %w", transport.ErrUnreachable, &net.DNSError{IsNotFound: true, Name: endpoint})
					}
					return nil
				}}
				cluster.Endpoints = []string{"server-0:1", "server-1:1"}
				var asked time.Time
				errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					ctx, end := context.WithCancelCause(ctx)
					defer end(nil)
					c := trial.CounterFor(job.Strategy)
					if f.ServerIndex() == 0 {
						time.AfterFunc(20*time.Second, func() { asked = time.Now(); end(errTerminated) })
					}
					play := func(ctx context.Context, f *fleet.Fleet) error {
						return c.Play(ctx, f, job.Strategy, func() error {
							for {
								if err := c.Train(ctx, 1); err != nil {
									return err
								}
								time.Sleep(100 * time.Millisecond)
							}
						})
					}
					if f.ServerIndex() != 1 {
						err := play(ctx, f)
						if took := time.Since(asked); f.IsServer() && (asked.IsZero() || took > 8*time.Second) {
							t.Errorf("it has ended %v after it was asked to, with %v", took, err)
						}
						return err
					}
					time.AfterFunc(19*time.Second, func() { gone.Store(true) })
					_, err := live(ctx, f, network, 19*time.Second, play)
					return err
				})
				for role, err := range errs {
					if err == nil && role != "server 1" {
						t.Errorf("%s has come to its end", role)
					}
				}
			})
		})
	}
}
