package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestClose ends a worker without a word: its calls fail at once, servers miss it after their timeout and go on.
func TestClose(t *testing.T) {
	t.Parallel()
	began := time.Now()
	trial.Cluster(2, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		f.Close() // there is nothing to end yet
		c := trial.NewCounter(5)
		_, err := c.Join(ctx, f, strategy.Async())
		if f.IsServer() {
			if !errors.Is(err, fleet.ErrWorkersDied) {
				return fmt.Errorf("got %v, want ErrWorkersDied", err)
			}
			return nil
		}
		if err != nil {
			return err
		}
		if f.WorkerIndex() == 0 {
			defer f.Close()
			return errors.Join(c.Train(ctx, 3), f.StopWorker(ctx))
		}
		f.Close()
		f.Close()
		if err := f.BarrierWorker(ctx); err == nil {
			return errors.New("a worker that was closed waits at a barrier")
		}
		return nil
	})
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("a simulation with a timeout of 30s took %v", took)
	}
	alone, err := fleet.New(t.Context(), rolemaker.Local{}, fleet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	alone.Close()
}

// TestSimulateIsACluster has two workers of three wait an hour of virtual time for the last.
func TestSimulateIsACluster(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	var wrapped transport.Transport
	wrap := func(net transport.Transport) transport.Transport { wrapped = net; return net }
	trial.Cluster(1, 3).Simulate(t, wrap, func(ctx context.Context, f *fleet.Fleet) error {
		began, c := time.Now(), trial.NewCounter(5)
		return c.Play(ctx, f, trial.Patient(strategy.Sync()), func() error {
			if f.WorkerIndex() == 2 {
				time.Sleep(time.Hour) // of virtual time, heartbeats and all
			}
			if err := c.Train(ctx, 2); err != nil {
				return err
			}
			if waited := time.Since(began); waited < time.Hour {
				return fmt.Errorf("a round of sync closed after %v, without its third worker", waited)
			}
			return nil
		})
	})
	if m, ok := wrapped.(*transport.Memory); !ok || m.Stats().Calls == 0 {
		t.Errorf("the cluster ran on %T", wrapped)
	}
}

// deafToLeaves loses the first requests to leave a server without a word, and the answers to those that it got.
type deafToLeaves struct {
	transport.Transport
	is   func(endpoint string, req [][]byte) bool
	mu   sync.Mutex
	lost map[string]int // by worker and server
}

func (d *deafToLeaves) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	name := trial.NameOf(req)
	if !d.is(endpoint, req) {
		return d.Transport.Call(ctx, endpoint, req, read)
	}
	d.mu.Lock()
	d.lost[name+endpoint]++
	lost := d.lost[name+endpoint] <= 6
	d.mu.Unlock()
	err := d.Transport.Call(ctx, endpoint, req, read)
	if lost {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return err
}

// TestALostGoodbye has a worker that stops get no answer to several requests in a row: it asks again soon, since the server has ended when
// all have left, and shows no sign of life meanwhile.
func TestALostGoodbye(t *testing.T) {
	t.Parallel()
	deaf := func(below transport.Transport) transport.Transport {
		return &deafToLeaves{Transport: below, is: trial.Requests(t, "", "leave"), lost: map[string]int{}}
	}
	trial.Cluster(2, 2).Simulate(t, deaf, trial.Counters(3, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		return errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx))
	}))
}

// TestALostGoodbyeWithAJournal: a worker that stops gets no answer from a server that keeps a journal, and has ended well; of what it asks
// then, half is lost. It has stopped when it has waited as long as for a server that comes back.
func TestALostGoodbyeWithAJournal(t *testing.T) {
	t.Parallel()
	s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
	s.Recovery.Every = strategy.Duration(time.Hour)
	asked := 0
	trial.Cluster(1, 1).Simulate(t, func(below transport.Transport) transport.Transport { return &halfDeaf{Transport: below, asked: &asked} },
		trial.Counters(3, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error { return c.Train(ctx, 3) }))
	if asked < 3 {
		t.Errorf("it has said goodbye %d times", asked)
	}
}

// halfDeaf loses the answer to the first goodbye, and breaks every second one after it.
type halfDeaf struct {
	transport.Transport
	asked *int
}

func (d *halfDeaf) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if !strings.HasPrefix(trial.NameOf(req), "leave") {
		return d.Transport.Call(ctx, endpoint, req, read)
	}
	*d.asked++
	if *d.asked == 1 {
		read = func([]byte) error { return trial.ErrPulled }
	} else if *d.asked%2 == 1 {
		return trial.ErrPulled
	}
	return d.Transport.Call(ctx, endpoint, req, read)
}

// TestAWorkerDiesBetweenItsGoodbyes: a worker that has done its work is killed when it has said so to one server and not to the other. It has
// stopped: the others train on without it, and every server ends well, at once.
//
// Promise: [G1] a worker killed halfway through its goodbyes counts as stopped: the others train on, and servers end
// normally
func TestAWorkerDiesBetweenItsGoodbyes(t *testing.T) {
	t.Parallel()
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				began, killed := time.Now(), new(atomic.Bool)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.CounterFor(strategy.Strategy{Mode: mode})
					play := func(ctx context.Context, f *fleet.Fleet) error {
						return c.Play(ctx, f, strategy.Strategy{Mode: mode}, func() error {
							if err := errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx)); err != nil || f.WorkerIndex() == 1 {
								return err
							}
							time.Sleep(5 * time.Second)
							return c.Train(ctx, 3)
						})
					}
					if f.WorkerIndex() != 1 {
						return play(ctx, f)
					}
					ctx, end := context.WithCancel(ctx)
					defer end()
					cable, leaves := &trial.Cable{Transport: network}, trial.Requests(t, "server-1:1", "leave")
					dies, err := trial.Another(f, &trial.Tap{Transport: cable, Before: func(endpoint string, req [][]byte) error {
						if leaves(endpoint, req) {
							killed.Store(true)
						}
						if killed.Load() {
							cable.Kill()
							end()
						}
						return nil
					}})
					if err != nil {
						return err
					}
					defer dies.Close()
					if err := play(ctx, dies); err == nil || !killed.Load() {
						return fmt.Errorf("it was not killed: %w", err)
					}
					return nil
				}))
				if took := time.Since(began); took > 15*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
