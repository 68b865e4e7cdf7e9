package fleet_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// stopwatch is a network on which a call takes 10 ms, and which measures the longest push while it is on.
type stopwatch struct {
	transport.Transport
	*longestPush
}

type longestPush struct {
	mu   sync.Mutex
	on   bool
	most time.Duration
}

// starts begins anew, or stops, and returns the longest push until then.
func (s *longestPush) starts(on bool) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	most, s.on, s.most = s.most, on, 0
	return most
}

// Call implements [transport.Transport].
func (w stopwatch) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	began := time.Now()
	time.Sleep(10 * time.Millisecond)
	err := w.Transport.Call(ctx, endpoint, req, read)
	if isPush(req) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.on {
			w.most = max(w.most, time.Since(began))
		}
	}
	return err
}

// TestSavePauseIsFlatInServers: while a checkpoint is saved a push waits for as many messages as on two, since server 0
// gives an order to all at once.
//
// Promise: [G6] pushes wait for a save as long on 32 servers as on 2
func TestSavePauseIsFlatInServers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, s := range trial.Some(t, []strategy.Strategy{strategy.Async(), strategy.HalfAsync()}) {
		for _, servers := range []int{2, 8, 32} {
			dir := t.TempDir()
			watch, saved := new(longestPush), make(chan struct{})
			wrap := func(n transport.Transport) transport.Transport {
				saved = make(chan struct{})
				return stopwatch{n, watch}
			}
			var before, during time.Duration
			trial.Cluster(servers, 2).Simulate(t, wrap, trial.Counters(100, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if f.WorkerIndex() == 1 {
					time.Sleep(time.Second)
					watch.starts(true)
					time.Sleep(time.Second)
					before = watch.starts(true)
					err := f.SavePersistables(ctx, dir)
					during = watch.starts(false)
					close(saved)
					return errors.Join(err, f.BarrierWorker(ctx))
				}
				for {
					select {
					case <-saved:
						return f.BarrierWorker(ctx)
					case <-time.After(time.Millisecond):
					}
					if err := c.Train(ctx, 1); err != nil {
						return err
					}
				}
			}))
			if before != 10*time.Millisecond || during <= before || during > 30*time.Millisecond {
				t.Errorf("%s, %d servers: a push takes %v, and %v while a checkpoint is saved", s.Mode, servers, before, during)
			}
		}
	}
}
