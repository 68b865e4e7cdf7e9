package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// breaking is a network on which each connection ends behind its request.
type breaking struct{ transport.Transport }

func (b breaking) Listen(endpoint string) (transport.Listener, error) {
	l, err := b.Transport.Listen(endpoint)
	return breakingListener{l}, err
}

type breakingListener struct{ transport.Listener }

func (l breakingListener) Serve(h transport.Handler) error {
	return l.Listener.Serve(func(req []byte, reply *transport.Reply) {
		reply.Broken = func() bool { return true }
		h(req, reply)
	})
}

func breaks(net transport.Transport) transport.Transport { return breaking{net} }

// TestABrokenConnectionIsNoDeath: workers whose connections break all the time, and who show life otherwise, are in the job, in every mode,
// with a journal too, though one makes no step for a minute.
//
// Promise: [G5] connections that break are no death while heartbeats come
func TestABrokenConnectionIsNoDeath(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			s := strategy.Strategy{Mode: mode}
			trial.Cluster(2, 3).Simulate(t, breaks, trial.Counters(1, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if err := c.Train(ctx, 3); err != nil {
					return err
				}
				if f.WorkerIndex() == 2 {
					time.Sleep(time.Minute)
				}
				return errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx))
			}))
		})
	}
}

// TestABrokenConnectionTellsOfADeath: a worker that is silent, and whose connection has ended, is out of the job within 3 s, and in step
// the others go on then; whenever it dies, before its first heartbeat too.
//
// Promise: [G5] a killed worker is noticed within 3 s by its closed connections
// Also: TestAKilledWorkerIsNoticed (examples/wide_and_deep)
func TestABrokenConnectionTellsOfADeath(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeSSP} {
		for _, after := range trial.Some(t, moments()) {
			t.Run(fmt.Sprint(mode, " ", after), func(t *testing.T) {
				var network transport.Transport
				wrap := func(net transport.Transport) transport.Transport { network = breaking{net}; return network }
				died := make(chan time.Time, 2)
				trial.Cluster(2, 3).Simulate(t, wrap, func(ctx context.Context, f *fleet.Fleet) error {
					s := strategy.Strategy{Mode: mode}
					if f.WorkerIndex() == 2 {
						return dieSilently(ctx, f, network, s, after, died)
					}
					err := trial.Counters(1, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						err := c.Train(ctx, 100)
						if took := time.Since(<-died); took > 3*time.Second {
							t.Errorf("worker %d has waited %v for the dead", f.WorkerIndex(), took)
						}
						return err
					})(ctx, f)
					if f.IsServer() && errors.Is(err, fleet.ErrWorkersDied) {
						err = nil
					}
					return err
				})
			})
		}
	}
}

// moments are drawn: a few between any two heartbeats of a worker's first, and before them.
func moments() (all []time.Duration) {
	r := rand.New(rand.NewPCG(1, 1))
	for i := range 12 {
		all = append(all, time.Duration((float64(i%4)+r.Float64())*float64(time.Second)).Round(time.Millisecond))
	}
	return all
}

// dieSilently makes two steps, and a while later sends nothing any more.
func dieSilently(ctx context.Context, f *fleet.Fleet, net transport.Transport, s strategy.Strategy, after time.Duration, died chan<- time.Time) error {
	cable := &trial.Cable{Transport: net}
	own, err := trial.Another(f, cable)
	if err != nil {
		return err
	}
	defer own.Close()
	c := trial.NewCounter(1)
	if _, err := c.Join(ctx, own, s); err != nil {
		return err
	}
	err = c.Train(ctx, 2)
	time.Sleep(after)
	cable.Kill()
	died <- time.Now()
	died <- time.Now()
	return err
}
