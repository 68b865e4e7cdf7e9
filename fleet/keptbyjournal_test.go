package fleet_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAJournalKeepsWhatNoCheckpointHas: server 0 of a job in step is asked to end while server 1 is away, so that no checkpoint can be saved.
// Where the worker lives on and waits, both come back to all that was trained, and server 0 has left nothing unsaved; where the worker has
// ended too, what came after the last checkpoint is lost, and server 0 says so.
//
// Promise: [G5] a job with a journal that can save no checkpoint when it is asked to end loses nothing
func TestAJournalKeepsWhatNoCheckpointHas(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, ends := range map[string]bool{"the worker waits": false, "the worker has ended": true} {
		t.Run(name, func(t *testing.T) {
			s := journaled(strategy.Sync(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			k := &keptByJournal{steps: 30, workerEnds: ends}
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 1)
				k.network = network
				for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					return k.role(ctx, f, s)
				}) {
					if err != nil && !ends {
						t.Errorf("%s: %v", role, err)
					}
				}
			})
			if !k.asked.Load() || (k.unsaved != nil) != ends {
				t.Errorf("server 0 was asked to end: %v, and has left unsaved: %v", k.asked.Load(), k.unsaved)
			}
		})
	}
}

type keptByJournal struct {
	network    transport.Transport
	steps      int
	workerEnds bool
	asked      atomic.Bool
	unsaved    error
}

// role plays one: server 1 is killed after two seconds, and comes back minutes later; server 0 is asked to end in the third, and the worker
// too, or is killed.
func (k *keptByJournal) role(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) error {
	play := trial.Counters(8, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		for range k.steps {
			if err := c.Train(ctx, 1); err != nil {
				return err
			}
			time.Sleep(time.Second / 5)
		}
		return c.Holds(ctx, float32(k.steps))
	})
	const away = 2 * time.Minute
	switch {
	case f.IsWorker() && k.workerEnds:
		_, err := live(ctx, f, k.network, 3*time.Second, play)
		return err
	case f.IsWorker():
		return play(ctx, f)
	case f.ServerIndex() == 1:
		ended, err := live(ctx, f, k.network, 2*time.Second, play)
		if time.Sleep(away); ended || k.workerEnds {
			return err
		}
		return next(ctx, f, k.network, play)
	}
	own, err := trial.Another(f, k.network)
	if err != nil {
		return err
	}
	defer own.Close()
	asked, end := context.WithCancel(ctx)
	defer end()
	time.AfterFunc(2500*time.Millisecond, func() { k.asked.Store(true); end() })
	err = play(asked, own)
	if k.unsaved = own.Unsaved(); k.workerEnds {
		return err
	}
	return next(ctx, f, k.network, play)
}
