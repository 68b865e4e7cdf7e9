package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWaitNamesMissingWorkers: the log of a worker that waits at a barrier, or for its round, names
// the worker that it waits for within 30 s, and so does the error at the end of the wait.
//
// Promise: [G4] a worker that waits at a barrier or in a round logs within 30 s for whom
func TestWaitNamesMissingWorkers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, k := range trial.SomeOf(t, map[string]struct {
		s    strategy.Strategy
		does func(context.Context, *fleet.Fleet, *trial.Counter) error
		says string
	}{
		"barrier": {strategy.Async(), func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter) error {
			return f.BarrierWorker(ctx)
		}, "at BarrierWorker: missing"},
		"round": {strategy.Sync(), func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			return c.Train(ctx, 2)
		}, "for round"},
		"ssp": {strategy.Strategy{Mode: strategy.ModeSSP}, func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			return c.Train(ctx, 100)
		}, "for the slowest: workers may be 0 steps ahead of it"},
	}) {
		t.Run(name, func(t *testing.T) {
			var log trial.Log
			k.s.WaitTimeout = strategy.Duration(2 * time.Minute) // of which a worker that computes is given 16
			cluster := fleettest.Cluster{Servers: 2, Workers: 3}
			cluster.Options.Logger = log.Logger()
			cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				_ = trial.Counters(1, k.s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					if f.WorkerIndex() == 2 {
						time.Sleep(time.Hour)
						return errors.New("it sleeps")
					}
					if f.WorkerIndex() == 0 {
						time.AfterFunc(30*time.Second, func() {
							for _, line := range log.Lines("still waiting for a server") {
								if strings.Contains(line, k.says) && strings.Contains(line, "worker 2 (") {
									return
								}
							}
							t.Errorf("after 30 s the log says %q, want %q and worker 2", log.Lines("still waiting"), k.says)
						})
					}
					err := k.does(ctx, f, c)
					if err == nil || !strings.Contains(err.Error(), "worker 2 (") {
						t.Errorf("worker %d was told %v, want worker 2", f.WorkerIndex(), err)
					}
					return err
				})(ctx, f) // each role ends with an error
				return nil
			})
		})
	}
}

// TestBarrierLeavesOutAWaitingThread: in half_async, where steps are merged, one thread of a worker meets the other workers between two
// of its steps. The other thread has ended one more, and waits for it: the meeting does not wait for that thread.
func TestBarrierLeavesOutAWaitingThread(t *testing.T) {
	t.Parallel()
	s := strategy.HalfAsync()
	s.GradientMerge.KSteps = 2
	cluster := fleettest.Cluster{Servers: 1, Workers: 1}
	cluster.Simulate(t, nil, trial.Counters(1, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		const steps = 10
		ends := make(chan error)
		for thread := range 2 {
			go func() {
				own := trial.NewCounter(1)
				own.Trainer = c.Trainer
				ends <- own.InSession(ctx, func(s optimizer.Session) error {
					for range steps {
						if err := own.Steps(ctx, s, 1); err != nil {
							return err
						}
						if thread == 1 {
							continue
						}
						time.Sleep(time.Second)
						if err := f.BarrierWorker(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}()
		}
		return errors.Join(<-ends, <-ends)
	}))
}

// TestExecutorsByTurnsAreTold: in half_async a loop that gives steps to two executors by turns waits for itself; its log says so within
// 30 s, and once in a while for all that wait. Executors that train side by side, one slower, are not spoken of.
//
// Promise: [G4] a thread in half_async that waits for others of its worker logs within 20 s how many are missing
func TestExecutorsByTurnsAreTold(t *testing.T) {
	t.Parallel()
	const says = "waits for other training threads"
	play := func(work func(context.Context, *fleet.Fleet, *trial.Counter, *trial.Log) error) {
		var log trial.Log
		cluster := fleettest.Cluster{Servers: 1, Workers: 1}
		cluster.Options.Logger = log.Logger()
		s := strategy.HalfAsync()
		cluster.Simulate(t, nil, trial.Counters(1, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			return work(ctx, f, c, &log)
		}))
	}
	play(func(ctx context.Context, f *fleet.Fleet, c *trial.Counter, log *trial.Log) error {
		first, err := c.OpenSession()
		if err != nil {
			return err
		}
		second, err := c.OpenSession()
		if err != nil {
			return err
		}
		if err := c.Steps(ctx, first, 1); err != nil {
			return err
		}
		time.AfterFunc(30*time.Second, func() {
			lines := log.Lines(says)
			if len(lines) != 1 || !strings.Contains(lines[0], "waiting=1 of=2") || !strings.Contains(lines[0], "missing=[1]") {
				t.Errorf("after 30 s the log says %q", lines)
			}
		})
		early, end := context.WithTimeout(ctx, 50*time.Second)
		defer end()
		if err := c.Steps(early, second, 1); err == nil || !strings.Contains(err.Error(), "1 of 2") {
			t.Errorf("the second executor's step: %v", err)
		}
		if n := len(log.Lines(says)); n != 2 {
			t.Errorf("%d lines within 50 s, want 2", n)
		}
		return errors.Join(first.Close(ctx), second.Close(ctx))
	})
	play(func(ctx context.Context, f *fleet.Fleet, c *trial.Counter, log *trial.Log) error {
		ends := make(chan error)
		for each := range 2 {
			go func() {
				own := trial.NewCounter(1)
				own.Trainer = c.Trainer
				ends <- own.InSession(ctx, func(s optimizer.Session) error {
					for range 10 {
						time.Sleep(time.Duration(each) * 10 * time.Second)
						if err := own.Steps(ctx, s, 1); err != nil {
							return err
						}
					}
					return nil
				})
			}()
		}
		err := errors.Join(<-ends, <-ends)
		if lines := log.Lines(says); len(lines) > 0 {
			t.Errorf("threads that train side by side are spoken of: %q", lines)
		}
		return err
	})
}

// TestAWorkerThatComputesIsWaitedFor: at default timeouts a job ends well though a worker computes for 20 minutes between two calls, as
// one that evaluates by hand does, while others wait in a round, at a barrier, and for the whole gradient of a collective job's step.
//
// Promise: [G4] a worker that computes alone is waited for 16 times the wait timeout, and no longer
func TestAWorkerThatComputesIsWaitedFor(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type kind struct {
		servers int
		s       strategy.Strategy
	}
	for name, k := range trial.SomeOf(t, map[string]kind{
		"sync": {2, strategy.Sync()}, "ssp": {2, strategy.Strategy{Mode: strategy.ModeSSP}}, "async": {2, strategy.Async()},
		"geo": {2, strategy.Geo(4)}, "half_async": {2, strategy.HalfAsync()}, "collective": {0, strategy.Sync()},
	}) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := fleettest.Cluster{Servers: k.servers, Workers: 3}
			cluster.Simulate(t, nil, trial.Counters(1, k.s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				for range 2 {
					if f.WorkerIndex() == 2 {
						time.Sleep(20 * time.Minute)
					}
					if err := c.Train(ctx, 10); err != nil {
						return err
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
				}
				return nil
			}))
		})
	}
}

// TestMutualWaitTimesOut: a worker that waits itself is no reason to wait longer than the wait timeout. One of whose pushes a server
// is never given waits for that server, and the server for it.
//
// Promise: [G4] live workers that wait for each other are ended by the wait timeout
func TestMutualWaitTimesOut(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.WaitTimeout = strategy.Duration(2 * time.Minute)
	lose := func(below transport.Transport) transport.Transport {
		return &trial.Tap{Transport: below, Before: func(endpoint string, req [][]byte) error {
			h, err := wire.ParseHeader(bytes.Join(req, nil)[trial.Envelope:])
			if err == nil && endpoint == "server-1:1" && h.Op == wire.OpStep && h.Worker == 0 && h.Samples > 0 {
				return trial.ErrPulled
			}
			return err
		}}
	}
	trial.Cluster(2, 2).Simulate(t, lose, func(ctx context.Context, f *fleet.Fleet) error {
		began := time.Now()
		err := trial.Counters(1, s, func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error {
			return c.Train(ctx, 3)
		})(ctx, f)
		if took := time.Since(began); err == nil || took < 2*time.Minute || took > 3*time.Minute {
			t.Errorf("%v ends after %v with error %v", f, took, err)
		}
		return nil
	})
}
