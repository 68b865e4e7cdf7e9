package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// endsPeriod says which requests order server 1 to end a period.
func endsPeriod(t *testing.T) func(endpoint string, req [][]byte) bool {
	t.Helper()
	return trial.Requests(t, "server-1:1", `"work":"end"`)
}

// shrinksWhole ends three periods, which use 2 of 40 rows, and wants all servers to drop the other 38 in the same one.
func shrinksWhole(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
	c.IDs = c.IDs[:2]
	var dropped []int
	for range 3 {
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
		freed, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 2})
		if err != nil {
			return err
		}
		for _, s := range freed {
			dropped = append(dropped, s.Rows)
		}
	}
	if slices.Max(dropped) != 38 || len(slices.DeleteFunc(slices.Clone(dropped), func(n int) bool { return n == 0 })) != 1 {
		return fmt.Errorf("the periods dropped %v rows, want all 38 in one", dropped)
	}
	return nil
}

// TestAPeriodEndsOnAllServers: server 1 is told for some time in vain to end a period that server 0 has ended, which it does as soon as it
// can be reached; and all roles go back where that is longer than a server may be away.
//
// Promise: [G6] a period that Shrink ends ends on all servers, though its worker dies, messages to a server are lost,
// or all go back
// Also: TestAPeriodOutlivesItsWorker, TestAShrinkEndsWithItsContext
func TestAPeriodEndsOnAllServers(t *testing.T) {
	t.Parallel()
	for _, mode := range []func() strategy.Strategy{strategy.Sync, strategy.Async} {
		for vain, back := range map[time.Duration]bool{0: false, 20 * time.Second: false, time.Hour: true} {
			synctest.Test(t, func(t *testing.T) {
				s, began, ends := trial.Patient(mode()), time.Time{}, endsPeriod(t)
				network := &trial.Tap{Transport: transport.NewMemory(), Before: func(endpoint string, req [][]byte) error {
					if !ends(endpoint, req) {
						return nil
					}
					if began.IsZero() {
						began = time.Now()
					}
					if time.Since(began) < vain {
						return trial.ErrPulled
					}
					return nil
				}}
				c := trial.Cluster(2, 1)
				c.Options.Transport, c.Options.Logger = network, slog.New(slog.DiscardHandler)
				for role, err := range c.Errors(t, trial.Counters(40, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					return errors.Join(c.Train(ctx, 3), shrinksWhole(ctx, f, c))
				})) {
					if back != errors.Is(err, fleet.ErrWentBack) || !back && err != nil {
						t.Errorf("%s, an order lost for %v: %s: %v", s.Mode, vain, role, err)
					}
				}
			})
		}
	}
}

// TestAPeriodOutlivesItsWorker: a worker dies when server 0 has ended the period and server 1 is about to be told. All servers end it, and
// its next life ends three more.
func TestAPeriodOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	tornByDeath(t, func(ctx context.Context, f *fleet.Fleet) error {
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 2})
		return err
	})
}

// TestTornBatchByDeath is the same with the end of a period that SaveModel makes behind a batch.
func TestTornBatchByDeath(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tornByDeath(t, func(ctx context.Context, f *fleet.Fleet) error {
		return failed(f.SaveModel(ctx, dir, fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Unseen: 2}}))
	})
}

// tornByDeath plays a worker that dies when server 1 is about to be told of the end of a period, and its next life.
func tornByDeath(t *testing.T, end func(context.Context, *fleet.Fleet) error) {
	synctest.Test(t, func(t *testing.T) {
		cluster, memory := quiet(2, 1)
		dead, own, seen := make(chan struct{}), &trial.Cable{Transport: memory}, atomic.Int32{}
		ends := endsPeriod(t)
		strikes := func(below transport.Transport) transport.Transport {
			return &trial.Tap{Transport: below, Before: func(endpoint string, req [][]byte) error {
				if ends(endpoint, req) && !own.Pulled.Load() && seen.Add(1) == 1 {
					synctest.Wait() // server 0 has it
					own.Pulled.Store(true)
					close(dead)
				}
				return nil
			}}
		}
		cluster.Options.Transport = strikes(memory)
		cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			c, s := trial.NewCounter(40), trial.Patient(strategy.Async())
			if f.IsServer() {
				return c.Play(ctx, f, s, nil)
			}
			first, err := trial.Another(f, strikes(own))
			if err != nil {
				return err
			}
			ended := make(chan error, 1)
			go func() {
				ended <- c.Play(ctx, first, s, func() error { return errors.Join(c.Train(ctx, 3), end(ctx, first)) })
			}()
			select {
			case <-dead:
			case err := <-ended:
				return fmt.Errorf("the first life has ended before it was struck: %w", err)
			}
			next := trial.NewCounter(40)
			second, err := trial.Another(f, memory)
			if err != nil {
				return err
			}
			err = next.Play(ctx, second, s, func() error { return shrinksWhole(ctx, second, next) })
			first.Close()
			<-ended
			return err
		})
	})
}

// TestASaveBesideAParkedWorker: a worker that has ended its epoch saves while the other trains on, over a network that delays messages:
// no save waits for the other's epoch to end.
func TestASaveBesideAParkedWorker(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, seed := range trial.Some(t, []uint64{1, 2, 3, 4, 5, 6}) {
		dir := t.TempDir()
		late := func(net transport.Transport) transport.Transport {
			return transporttest.NewFaulty(net, seed, transporttest.Faults{Delay: 0.5})
		}
		s := trial.Measured
		s.WaitTimeout = strategy.Duration(2 * time.Minute)
		trial.Cluster(3, 2).Simulate(t, late, trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			steps := []int{3, 60}[f.WorkerIndex()]
			err := errors.Join(c.Train(ctx, steps), c.Trainer.EndEpoch(ctx))
			for i := 0; i < 10 && err == nil && f.WorkerIndex() == 0; i++ {
				began := time.Now()
				err = f.SavePersistables(ctx, filepath.Join(dir, "x"))
				if took := time.Since(began); took > 5*time.Second {
					err = errors.Join(err, fmt.Errorf("seed %d: save %d took %v", seed, i, took))
				}
			}
			return errors.Join(err, f.BarrierWorker(ctx))
		}))
	}
}

// numberOf is the cut of an order that ends a period.
var numberOf = regexp.MustCompile(`"number":(\d+)`)

// TestAllEndOnePeriod: workers that all end a period behind a barrier end one, in every mode, while the first of them trains on already; in
// sync, where nobody goes far, also over a network that delays messages, and however many they are.
//
// Promise: [G6] workers that end a period after the same barrier end one, after the next barrier the next; a load
// takes it back
// Also: TestPeriodsByTurns, TestAPeriodBehindALoad
func TestAllEndOnePeriod(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP, strategy.ModeGeo} {
		onePeriod(t, strategy.Strategy{Mode: mode}, 3, 2, 0)
	}
	for seed := range uint64(4) {
		onePeriod(t, strategy.Sync(), 3, 2, seed+1)
	}
	onePeriod(t, strategy.Sync(), 2, 24, 0)
}

func onePeriod(t *testing.T, s strategy.Strategy, servers, workers int, seed uint64) {
	ends := periods(t, s, servers, workers, seed, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		if err := errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		_, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 3})
		return errors.Join(err, c.Train(ctx, 3))
	})
	if ends != 1 {
		t.Errorf("%s, %d workers, seed %d: %d periods have ended, want 1", s.Mode, workers, seed, ends)
	}
}

// periods is how many periods end in a job.
func periods(t *testing.T, s strategy.Strategy, servers, workers int, seed uint64,
	work func(context.Context, *fleet.Fleet, *trial.Counter) error) int {
	var mu sync.Mutex
	ends, end := map[string]bool{}, endsPeriod(t)
	wrap := func(net transport.Transport) transport.Transport {
		if seed > 0 {
			net = transporttest.NewFaulty(net, seed, transporttest.Faults{Delay: 0.5})
		}
		return &trial.Tap{Transport: net, Before: func(endpoint string, req [][]byte) error {
			if end(endpoint, req) {
				mu.Lock()
				defer mu.Unlock()
				ends[string(numberOf.FindSubmatch(bytes.Join(req, nil))[1])] = true
			}
			return nil
		}}
	}
	trial.Cluster(servers, workers).Simulate(t, wrap, trial.Counters(1, s, work))
	return len(ends)
}

// TestPeriodsByTurns: workers that end periods by turns, each behind a barrier, end one each, also a worker that has no batch
// in the other's period, and whether or not a checkpoint in one place comes with it. Behind the same barrier all end one.
func TestPeriodsByTurns(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	for name, end := range map[string]func(context.Context, *fleet.Fleet) error{
		"Shrink": func(ctx context.Context, f *fleet.Fleet) error {
			return failed(f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 30}))
		},
		"SaveBatch": func(ctx context.Context, f *fleet.Fleet) error {
			o := fleet.SaveOptions{Mode: fleet.SaveBatch, Shrink: fleet.ShrinkOptions{Unseen: 30}}
			return failed(f.SaveModel(ctx, filepath.Join(dir, "last"), o))
		},
	} {
		t.Run(name, func(t *testing.T) { periodsByTurns(t, end) })
	}
}

func periodsByTurns(t *testing.T, end func(context.Context, *fleet.Fleet) error) {
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP, strategy.ModeGeo} {
		ends := periods(t, strategy.Strategy{Mode: mode}, 2, 2, 0, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			err := errors.Join(c.Train(ctx, 3), f.BarrierWorker(ctx))
			for turn := range 4 { // worker 0 alone trains; both end the last period
				if err == nil && f.WorkerIndex() == 0 {
					err = c.Train(ctx, 2)
				}
				if err = errors.Join(err, f.BarrierWorker(ctx)); err == nil && (f.WorkerIndex() == turn%2 || turn == 3) {
					err = end(ctx, f)
				}
			}
			return err
		})
		if ends != 4 {
			t.Errorf("%s: %d periods have ended, want 4", mode, ends)
		}
	}
}

// TestAShrinkEndsWithItsContext: one that server 0 is not told of holds its caller no longer than its context and a heartbeat.
func TestAShrinkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	var lost atomic.Bool
	asks := trial.Requests(t, "server-0:1", `"shrink":{`)
	wrap := func(below transport.Transport) transport.Transport {
		return &trial.Tap{Transport: below, Before: func(endpoint string, req [][]byte) error {
			if asks(endpoint, req) && lost.Load() {
				return trial.ErrPulled
			}
			return nil
		}}
	}
	trial.Cluster(2, 1).Simulate(t, wrap, trial.Counters(40, strategy.Async(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		if err := c.Train(ctx, 1); err != nil {
			return err
		}
		lost.Store(true)
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		began := time.Now()
		_, err := f.Shrink(short, fleet.ShrinkOptions{Unseen: 2})
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 4*time.Second {
			t.Errorf("it ended after %v with %v", took, err)
		}
		lost.Store(false)
		return shrinksWhole(ctx, f, c)
	}))
}

// TestAPeriodBehindALoad: the end of a period that a load has taken back serves nobody.
func TestAPeriodBehindALoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	trial.Cluster(2, 2).Simulate(t, nil, trial.Counters(40, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		err := errors.Join(c.Train(ctx, 1), f.BarrierWorker(ctx))
		if f.WorkerIndex() == 0 && err == nil {
			err = f.SavePersistables(ctx, dir)
			if _, failed := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1}); err == nil {
				err = failed
			}
			err = errors.Join(err, f.LoadModel(ctx, dir))
		}
		err = errors.Join(err, f.BarrierWorker(ctx))
		if f.WorkerIndex() == 1 && err == nil { // it knows of no period
			c.IDs = c.IDs[:0]
			for range 2 {
				freed, failed := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 1})
				if err == nil && failed == nil {
					for _, s := range freed {
						t.Log("rows", s.Rows)
					}
				}
				err = errors.Join(err, failed)
			}
			n := 0
			for _, failed := range f.Rows(ctx, "rows") {
				err = errors.Join(err, failed)
				n++
			}
			if n != 0 {
				t.Errorf("%d rows outlive two periods unseen", n)
			}
		}
		return errors.Join(err, f.BarrierWorker(ctx))
	}))
}
