package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// What a server that comes back with its journal must know besides its tables: each test has one thing happen before it is killed, of which
// nobody would speak again.

// unhurried is a job with a journal that makes no checkpoints by itself, and waits a minute at most.
func unhurried(t *testing.T, mode strategy.Mode) strategy.Strategy {
	s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
	s.Recovery.Every, s.WaitTimeout = strategy.Duration(time.Hour), strategy.Duration(time.Minute)
	return s
}

// TestRatesComeBack: the factor on learning rates that worker 0 has set is that of servers which are killed and come back, with or
// without a checkpoint since, in rounds from the round on for which it was set.
//
// Promise: [G6] a journal restores what no other role would send again, back to the last complete checkpoint: rates,
// those for later rounds too, lives of workers, which workers have ended; large pushes start again
// Also: TestARateForLaterComesBack, TestAJoinOutlivesAServer, TestAnEndOutlivesAServer,
// TestAJournalReachesBackToWhatIsWhole, TestPiecesOutliveAServer
func TestRatesComeBack(t *testing.T) {
	t.Parallel()
	for _, mode := range trial.Some(t, strategy.Modes()) {
		for _, saved := range []bool{false, true} {
			if mode == strategy.ModeGeo { // whose workers have the rate
				continue
			}
			t.Run(fmt.Sprintf("%s, saved %t", mode, saved), func(t *testing.T) {
				s := unhurried(t, mode)
				synctest.Test(t, func(t *testing.T) {
					cluster, network := quiet(2, 2)
					trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
							return halved(ctx, f, c, s.Mode, saved)
						})
						if f.IsServer() {
							return lives(ctx, f, network, []time.Duration{time.Second}, []time.Duration{time.Second / 10}, play)
						}
						return play(ctx, f)
					}))
				})
			})
		}
	}
}

// halved counts, at half the rate after two seconds in which servers are killed.
func halved(ctx context.Context, f *fleet.Fleet, c *trial.Counter, mode strategy.Mode, saved bool) error {
	const steps = 4
	if err := errors.Join(c.Train(ctx, steps), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	if f.WorkerIndex() == 0 {
		if err := f.SetRateFactor(ctx, 0.5); err != nil {
			return err
		}
		if saved {
			if err := f.Checkpoint(ctx); err != nil {
				return err
			}
		}
	}
	time.Sleep(2 * time.Second)
	if err := errors.Join(f.BarrierWorker(ctx), c.Train(ctx, steps), f.BarrierWorker(ctx)); err != nil {
		return err
	}
	want := float32(steps + steps/2)
	if mode != strategy.ModeSync {
		want *= 2
	}
	return c.Holds(ctx, want)
}

// TestARateForLaterComesBack: worker 0 has ended its epoch, and sets a factor that counts from the next one on; the other's rounds until
// then have the factor before, also on a server that is killed and comes back meanwhile, with or without a checkpoint.
func TestARateForLaterComesBack(t *testing.T) {
	t.Parallel()
	for _, saved := range []bool{false, true} {
		t.Run(fmt.Sprintf("saved %t", saved), func(t *testing.T) {
			s := unhurried(t, strategy.ModeSync)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(1, 2)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						if err := c.Train(ctx, 2); err != nil {
							return err
						}
						if f.WorkerIndex() == 0 {
							if err := errors.Join(c.Trainer.EndEpoch(ctx), f.SetRateFactor(ctx, 0.5)); err != nil {
								return err
							}
						}
						time.Sleep(time.Second / 2)
						if saved && f.WorkerIndex() == 1 {
							if err := f.Checkpoint(ctx); err != nil {
								return err
							}
						}
						time.Sleep(2 * time.Second) // the server is killed, and comes back
						if f.WorkerIndex() == 1 {
							if err := errors.Join(c.Train(ctx, 2), c.Trainer.EndEpoch(ctx)); err != nil {
								return err
							}
						}
						if err := errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						return c.Holds(ctx, 2+2+1)
					})
					if f.IsServer() {
						return lives(ctx, f, network, []time.Duration{time.Second}, []time.Duration{time.Second / 10}, play)
					}
					return play(ctx, f)
				}))
			})
		})
	}
}

// TestAJoinOutlivesAServer: a worker joins, and server 0 is killed before the answer comes. The server that comes back knows the process
// by the number of its life, and waits for no sign of life of another.
func TestAJoinOutlivesAServer(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			s := unhurried(t, mode)
			s.HeartbeatInterval = strategy.Duration(5 * time.Second)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(1, 1)
				began := time.Now()
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						if took := time.Since(began); took < time.Second || took > 4*time.Second {
							return fmt.Errorf("the worker has joined after %v", took)
						}
						return c.Train(ctx, 1)
					})
					if f.IsServer() {
						return lives(ctx, f, network, []time.Duration{time.Second}, []time.Duration{time.Second / 10}, play)
					}
					return trial.OnNetwork(ctx, f, &deafTo{Transport: network, is: trial.Requests(t, "server-0:1", "join"), until: began.Add(time.Second)}, play)
				}))
			})
		})
	}
}

// deafTo loses the answers to some requests until a moment.
type deafTo struct {
	transport.Transport
	is    func(endpoint string, req [][]byte) bool
	until time.Time
}

func (d *deafTo) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if d.is(endpoint, req) && time.Now().Before(d.until) {
		read = func([]byte) error { return trial.ErrPulled }
	}
	return d.Transport.Call(ctx, endpoint, req, read)
}

// TestAnEndOutlivesAServer: a worker says that it ends before its work is done, and server 0 is killed before it has declared it dead. The
// server that comes back declares it dead at once, and the other worker goes on.
func TestAnEndOutlivesAServer(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"fence", "drop"} {
		t.Run("before its "+order, func(t *testing.T) { endsBeside(t, order) })
	}
}

// endsBeside has server 0 be killed when it can't give another server an order.
func endsBeside(t *testing.T, order string) {
	s := unhurried(t, strategy.ModeSync)
	s.Recovery.WorkerLost = strategy.WorkerGoOn
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 2)
		for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				if err := c.Train(ctx, 2); err != nil {
					return err
				}
				if f.WorkerIndex() == 1 {
					f.Close()
					return errEnds
				}
				began := time.Now()
				err := c.Train(ctx, 2)
				if took := time.Since(began); err == nil && took > 10*time.Second {
					return fmt.Errorf("it went on after %v", took)
				}
				return err
			})
			if f.ServerIndex() != 0 {
				return play(ctx, f)
			}
			began := time.Now()
			gives := trial.Requests(t, "server-1:1", order)
			mute := &trial.Tap{Transport: network, Before: func(endpoint string, req [][]byte) error {
				if gives(endpoint, req) && time.Since(began) < time.Second {
					return trial.ErrPulled
				}
				return nil
			}}
			return lives(ctx, f, mute, []time.Duration{time.Second}, []time.Duration{time.Second / 10}, play)
		}) {
			if strings.HasPrefix(role, "server") && errors.Is(err, fleet.ErrWorkersDied) || errors.Is(err, errEnds) {
				continue
			}
			if err != nil || strings.HasPrefix(role, "server") {
				t.Errorf("%s: %v", role, err)
			}
		}
	})
}

var errEnds = errors.New("it ends")

// TestPiecesOutliveAServer: servers are killed between the pieces of large pushes. The first pieces went with the process that had them,
// and a worker sends them again.
func TestPiecesOutliveAServer(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		trial.EachSeed(t, 2, func(seed trial.Seed) {
			t.Run(fmt.Sprintf("%s/%d", mode, seed.N), func(t *testing.T) {
				s := unhurried(t, mode)
				s.MaxFrame = 4096
				const workers, steps = 2, 12
				want := float32(workers * steps)
				if mode == strategy.ModeSync {
					want = steps
				}
				synctest.Test(t, func(t *testing.T) {
					cluster, network := quiet(2, workers)
					var pieces atomic.Int64
					trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, steps, want) }
						if f.IsServer() {
							deaths := []time.Duration{time.Duration(150+30*int(seed.N)+f.ServerIndex()) * time.Millisecond}
							return lives(ctx, f, network, append(deaths, deaths...), []time.Duration{time.Second / 10, time.Second / 10}, play)
						}
						own, err := trial.Another(f, &trial.Tap{Transport: network, Before: func(_ string, req [][]byte) error {
							if strings.HasPrefix(trial.NameOf(req), "piece") {
								pieces.Add(1)
							} else {
								time.Sleep(20 * time.Millisecond) // the step comes later than its pieces
							}
							return nil
						}})
						if err != nil {
							return err
						}
						defer own.Close()
						return play(ctx, own)
					}))
					if pieces.Load() == 0 {
						t.Error("there were no pieces")
					}
				})
			})
		})
	}
}

// TestAJournalReachesBackToWhatIsWhole: a checkpoint fails when servers have written it, and a server is killed while the next is
// written: it comes back to the one before both, and all that it has done since.
func TestAJournalReachesBackToWhatIsWhole(t *testing.T) {
	t.Parallel()
	s := unhurried(t, strategy.ModeAsync)
	synctest.Test(t, func(t *testing.T) {
		cluster, memory := quiet(2, 1)
		var at atomic.Int32
		began, writes := time.Now(), trial.Requests(t, "server-1:1", `"work":"write"`)
		network := &trial.Tap{Transport: memory, Before: func(endpoint string, req [][]byte) error {
			if !writes(endpoint, req) {
				return nil
			}
			switch at.Load() {
			case 1: // it can't be made whole
				return os.MkdirAll(filepath.Join(s.Recovery.Dir, "ckpt-000002", "manifest.json"), 0o755)
			case 2:
				if time.Since(began) < 20*time.Second { // when servers are killed
					return trial.ErrPulled
				}
			}
			return nil
		}}
		cluster.Options.Transport = network
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				for saving := range 3 {
					at.Store(int32(saving))
					if err := c.Train(ctx, 1); err != nil {
						return err
					}
					err := f.Checkpoint(ctx)
					if failed := err != nil; failed != (saving == 1) {
						return fmt.Errorf("checkpoint %d: %w", saving, err)
					}
				}
				return c.Holds(ctx, 3)
			})
			if f.IsServer() {
				return lives(ctx, f, network, []time.Duration{20 * time.Second}, []time.Duration{time.Second / 10}, play)
			}
			return play(ctx, f)
		}))
	})
}

// TestSavedPushCountsOnceAfterAReturn: a push counts, its worker has no answer, and a checkpoint is saved that holds it. The server is
// killed, and comes back to that checkpoint: the push, which comes again, counts once, and so do those that follow.
func TestSavedPushCountsOnceAfterAReturn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			s := unhurried(t, mode)
			want := float32(2)
			if mode == strategy.ModeSync {
				want = 1
			}
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(1, 2)
				began := time.Now()
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						return c.InSession(ctx, func(session optimizer.Session) error {
							if err := errors.Join(c.Steps(ctx, session, 1), c.Trainer.EndEpoch(ctx)); err != nil {
								return err
							}
							if f.WorkerIndex() == 1 {
								if err := f.Checkpoint(ctx); err != nil {
									return err
								}
							}
							if err := errors.Join(f.BarrierWorker(ctx), c.Steps(ctx, session, 1), f.BarrierWorker(ctx)); err != nil {
								return err
							}
							values, err := c.Seen(ctx, session)
							return errors.Join(err, trial.AllAre(values, 2*want))
						})
					})
					switch {
					case f.IsServer():
						return lives(ctx, f, network, []time.Duration{time.Second}, []time.Duration{time.Second / 10}, play)
					case f.WorkerIndex() == 1:
						return play(ctx, f)
					}
					return trial.OnNetwork(ctx, f, &deafTo{Transport: network, is: trial.Met(t, "a push", anyPush), until: began.Add(2 * time.Second)}, play)
				}))
			})
		})
	}
}

// TestAServerDiesBeforeItsFirstWeights: a server that has no dense weights is killed before worker 0 has said to it that they are there.
// Worker 1, which has them all from the other server, goes on with it.
func TestAServerDiesBeforeItsFirstWeights(t *testing.T) {
	t.Parallel()
	s := unhurried(t, strategy.ModeSync)
	is := trial.Requests(t, "", "publish")
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 2)
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				e, err := f.Explain(nil)
				if err == nil && e.Servers[1].Floats > 0 {
					err = errors.New("server 1 has dense weights")
				}
				return errors.Join(err, c.Train(ctx, 3), f.BarrierWorker(ctx), c.Holds(ctx, 3))
			})
			switch {
			case f.ServerIndex() == 1:
				return lives(ctx, f, network, []time.Duration{time.Second}, []time.Duration{time.Second}, play)
			case f.IsWorker() && f.WorkerIndex() == 0:
				return trial.OnNetwork(ctx, f, &lateFirstWeights{network, is, f.ServerEndpoints()[1]}, play)
			}
			return play(ctx, f)
		}))
	})
}

// lateFirstWeights has the first weights come late to a server.
type lateFirstWeights struct {
	transport.Transport
	is func(endpoint string, req [][]byte) bool
	to string
}

func (l *lateFirstWeights) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if l.is(endpoint, req) && endpoint == l.to {
		time.Sleep(5 * time.Second)
	}
	return l.Transport.Call(ctx, endpoint, req, read)
}
