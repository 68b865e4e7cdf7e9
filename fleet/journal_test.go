package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// journaled is a strategy whose servers come back, and are waited for.
func journaled(s strategy.Strategy, dir string, j strategy.Journal) strategy.Strategy {
	s.Recovery = strategy.Recovery{Dir: dir + "/checkpoints", Every: strategy.Duration(110 * time.Millisecond), Deltas: 2, Journal: j, JournalDir: dir + "/journal"}
	return trial.Patient(s)
}

// quiet is a job on a network of its own, from which roles can be cut off, and whose log nobody reads.
func quiet(servers, workers int) (fleettest.Cluster, *transport.Memory) {
	network := transport.NewMemory()
	c := trial.Cluster(servers, workers)
	c.Options.Transport, c.Options.Logger = network, slog.New(slog.DiscardHandler)
	return c, network
}

// lives has a role killed some time after it began, again and again, and started again some time later: play is what it does.
func lives(ctx context.Context, f *fleet.Fleet, network transport.Transport, deaths, pauses []time.Duration,
	play func(context.Context, *fleet.Fleet) error) error {
	for i := range deaths {
		if ended, err := live(ctx, f, network, deaths[i], play); ended {
			return err
		}
		time.Sleep(pauses[i])
	}
	_, err := live(ctx, f, network, 0, play)
	return err
}

// live is one life of a role, which is killed after some time unless that is 0; ended says that it was not.
func live(ctx context.Context, f *fleet.Fleet, network transport.Transport, after time.Duration, play func(context.Context, *fleet.Fleet) error) (ended bool, err error) {
	own := &trial.Cable{Transport: network}
	again, err := trial.Another(f, own)
	if err != nil {
		return true, err
	}
	defer again.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	killed := make(chan struct{})
	if after > 0 {
		kill := time.AfterFunc(after, func() {
			close(killed)
			own.Kill()
			cancel()
		})
		defer kill.Stop()
	}
	if err = play(ctx, again); err == nil {
		return true, nil // also when it was killed a moment later
	}
	select {
	case <-killed:
		return false, nil
	default:
		return true, err
	}
}

// TestServersComeBack kills servers at drawn moments, now and then both, and starts them again: every push counts once, in every mode, and
// workers notice no more than that an answer takes longer.
//
// Promise: [G6] with a journal a server that is killed comes back: every push counts once, in rounds to the bits
// Also: TestServersComeBackToTheBits, TestALostJournalSendsAllBack, TestAWorkerDiesBesideAServer,
// TestAServersMachineIsAway, TestAJournalThatLacksItsEnd, TestErrorNamesRollback, TestAReturnedServerKnowsTheDead,
// TestABarrierIsOverOnce, TestEverythingDies, TestAllWorkersDie, TestAJobWithAJournalIsAskedToEnd
func TestServersComeBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		trial.EachSeed(t, 6, func(seed trial.Seed) {
			t.Run(fmt.Sprintf("%s/%d", mode, seed.N), func(t *testing.T) {
				s, err := strategy.Named(string(mode))
				law.Check(t, err)
				if seed.N%3 == 2 {
					s.MaxFrame = 4096
				}
				s = journaled(s, t.TempDir(), []strategy.Journal{strategy.JournalProcess, strategy.JournalMachine}[seed.N%2])
				r := rand.New(rand.NewPCG(seed.N, 7))
				draw := func(most time.Duration) (all []time.Duration) {
					for range 1 + r.IntN(3) {
						all = append(all, 1+time.Duration(r.Int64N(int64(most))))
					}
					return append(all, all...)
				}
				deaths := [][]time.Duration{draw(500 * time.Millisecond), draw(500 * time.Millisecond)}
				pauses := [][]time.Duration{draw(time.Second), draw(time.Second / 10)}
				deaths, pauses = shorter(deaths, pauses)
				const workers, steps = 2, 12
				want := float32(workers * steps)
				if mode == strategy.ModeSync {
					want = steps
				}
				synctest.Test(t, func(t *testing.T) {
					cluster, network := quiet(2, workers)
					trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, steps, want) }
						if f.IsServer() {
							return lives(ctx, f, network, deaths[f.ServerIndex()], pauses[f.ServerIndex()], play)
						}
						return play(ctx, f)
					}))
				})
				if left := entries(t, s.Recovery.JournalDir); len(left) > 0 {
					t.Errorf("a job that has ended well leaves %q", left)
				}
				checkKept(t, s.Recovery.Dir)
			})
		})
	}
}

// checkKept finds the last checkpoints in a directory, and those that they are based on.
func checkKept(t *testing.T, dir string) {
	t.Helper()
	left := names(t, dir)
	wanted := slices.Clone(left[max(0, len(left)-2):])
	for _, name := range wanted {
		for base := trial.Manifest(t, filepath.Join(dir, name)).Base; base != nil; base = trial.Manifest(t, filepath.Join(dir, base.Dir)).Base {
			wanted = append(wanted, base.Dir)
		}
	}
	slices.Sort(wanted)
	if !slices.Equal(slices.Compact(wanted), left) {
		t.Errorf("of the checkpoints the last 2 are to stay, and what they are based on, %q; there are %q", wanted, left)
	}
}

// shorter cuts each pair of lists to the shorter one.
func shorter(a, b [][]time.Duration) ([][]time.Duration, [][]time.Duration) {
	for i := range a {
		n := min(len(a[i]), len(b[i]))
		a[i], b[i] = a[i][:n], b[i][:n]
	}
	return a, b
}

// entries are the files in a directory, but for locks.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	law.Check(t, err)
	for _, e := range all {
		if !slices.Contains([]string{"server-0-of-2.lock", "server-1-of-2.lock"}, e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// countSlowly is [trial.Count] with a pause in each step.
func countSlowly(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, want float32) error {
	c := trial.CounterFor(s)
	return c.Play(ctx, f, s, func() error {
		return c.InSession(ctx, func(session optimizer.Session) error {
			for range steps {
				if err := c.Steps(ctx, session, 1); err != nil {
					return err
				}
				time.Sleep(25 * time.Millisecond)
			}
			if err := errors.Join(c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
				return err
			}
			values, err := c.Seen(ctx, session)
			if err != nil {
				return err
			}
			return trial.AllAre(values, want)
		})
	})
}

// TestServersComeBackToTheBits trains in rounds, whose servers clip by the norm of all, under rules with a state of their own, and kills
// servers on the way: the model ends in the very bits of a job that nothing happened to. Rows wait for their entry.
func TestServersComeBackToTheBits(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	rules := map[string]optimizer.Rule{
		"SGD": optimizer.SGD{LR: 0.1}, "Adam": optimizer.Adam{LR: 0.01}, "dense Adam": optimizer.Adam{LR: 0.01, Dense: true},
		"clipped": optimizer.ClipByGlobalNorm{Rule: optimizer.Adagrad{LR: 0.1}, Norm: 0.1},
	}
	for name, rule := range trial.SomeOf(t, rules) {
		trial.EachSeed(t, 2, func(seed trial.Seed) {
			t.Run(fmt.Sprintf("%s/%d", name, seed.N), func(t *testing.T) {
				calm := sums(t, rule, seed.N, false)
				if stormy := sums(t, rule, seed.N, true); !slices.Equal(calm, stormy) {
					t.Errorf("weights are %v, want %v", stormy[:6], calm[:6])
				}
			})
		})
	}
}

// sums are the weights and rows of a sync job, which may have its servers killed.
func sums(t *testing.T, rule optimizer.Rule, seed uint64, killed bool) (values []float32) {
	r := rand.New(rand.NewPCG(seed, 8))
	s := journaled(strategy.Sync(), t.TempDir(), strategy.JournalProcess)
	const workers, steps = 2, 20
	var deaths, pauses [2][]time.Duration
	for i := range deaths {
		for range 3 {
			deaths[i] = append(deaths[i], time.Duration(1+r.Int64N(int64(600*time.Millisecond))))
			pauses[i] = append(pauses[i], time.Duration(1+r.Int64N(int64(100*time.Millisecond))))
		}
		if !killed {
			deaths[i] = nil
		}
	}
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, workers)
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.NewCounter(40)
				c.Rows.Entry = optimizer.Entry{CountFilter: 4} // pushed by two workers in a round
				return trial.Play(ctx, f, c, rule, s, func() error {
					return c.InSession(ctx, func(session optimizer.Session) error {
						for i := range steps {
							c.Each = float32(1+(i+f.WorkerIndex())%5) / 3
							c.IDs = []uint64{uint64(i % 7), 100 + uint64(i%3)}
							if err := c.Steps(ctx, session, 1); err != nil {
								return err
							}
							time.Sleep(25 * time.Millisecond)
						}
						if err := errors.Join(c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						c.IDs = []uint64{0, 1, 2, 3, 4, 5, 6, 100, 101, 102}
						seen, err := c.Seen(ctx, session)
						if f.WorkerIndex() == 0 {
							values = seen
						}
						return err
					})
				})
			}
			if f.IsServer() {
				return lives(ctx, f, network, deaths[f.ServerIndex()], pauses[f.ServerIndex()], play)
			}
			return play(ctx, f)
		}))
	})
	return values
}

// recordsIn runs a trial whose servers keep a journal: it is there, with updates in it, until the job has ended.
func recordsIn(t *testing.T, x trial.Trial, j strategy.Journal) {
	dir := t.TempDir()
	bytes := int64(0)
	x.After = func(context.Context, *fleet.Fleet) error {
		for _, name := range entries(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	}
	x.With(func(s *strategy.Strategy) {
		s.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: j, JournalDir: dir}
	}).Works(t)
	if left := entries(t, dir); len(left) > 0 || bytes < 100_000 {
		t.Errorf("%d bytes were recorded, and %q is left", bytes, left)
	}
}

// waitedFor is how long a job goes on whose server 1 is gone and never comes back.
func waitedFor(t *testing.T, mode strategy.Mode, timeout time.Duration) (waited time.Duration) {
	s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
	s.Recovery.RestartTimeout = strategy.Duration(timeout)
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 1)
		began := time.Now()
		cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, 50, 50) }
			if f.ServerIndex() == 1 {
				_, err := live(ctx, f, network, time.Second, play)
				return err
			}
			err := play(ctx, f)
			if f.IsWorker() {
				waited = time.Since(began)
			}
			return err
		})
	})
	return waited
}

// TestALostJournalSendsAllBack has a server come back whose journal is gone, or of which a byte is another: every role ends with
// ErrWentBack, and when all are started again the job begins from its last checkpoint, or from nothing as here.
func TestALostJournalSendsAllBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	flip := func(where float64) func(string) error {
		return func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil {
				b[int(where*float64(len(b)))] ^= 1
				err = os.WriteFile(path, b, 0o644)
			}
			return err
		}
	}
	for what, harm := range map[string]func(path string) error{"gone": os.Remove, "damaged": flip(0.5), "damaged where it begins": flip(0)} {
		t.Run(what, func(t *testing.T) {
			s := journaled(strategy.Sync(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, 40, 40) }
					if f.ServerIndex() != 1 {
						return play(ctx, f)
					}
					if ended, err := live(ctx, f, network, 500*time.Millisecond, play); ended {
						return fmt.Errorf("it was not killed: %w", err)
					}
					for _, name := range entries(t, s.Recovery.JournalDir) {
						if path := filepath.Join(s.Recovery.JournalDir, name); strings.HasPrefix(name, "server-1") {
							if err := harm(path); err != nil {
								return err
							}
						}
					}
					_, err := live(ctx, f, network, 0, play)
					return err
				}) {
					if !errors.Is(err, fleet.ErrWentBack) {
						t.Errorf("%s: %v, want ErrWentBack", role, err)
					}
				}
				for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					return countSlowly(ctx, f, s, 5, 5)
				}) {
					if err != nil {
						t.Errorf("started again: %s: %v", role, err)
					}
				}
			})
		})
	}
}

// TestAJournalThatLacksItsEnd has a server come back to an earlier state than it had, as from a copy of its disk: nobody trains on with
// what is left, and no checkpoint keeps it. Either every role ends with ErrWentBack or, where nobody had an answer to what is lacking,
// every push counts.
func TestAJournalThatLacksItsEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	went := 0
	for _, mode := range trial.Some(t, strategy.Modes()) {
		for _, part := range []float64{0.1, 0.5, 0.9} {
			t.Run(fmt.Sprintf("%s, %v of it", mode, part), func(t *testing.T) {
				s := journaled(strategy.Strategy{Mode: mode, HeartbeatInterval: strategy.Duration(2 * time.Second)}, t.TempDir(), strategy.JournalProcess)
				s.Recovery.Every = strategy.Duration(900 * time.Millisecond)
				play := func(role func(context.Context, *fleet.Fleet, transport.Transport) error) (ends map[string]error) {
					synctest.Test(t, func(t *testing.T) {
						cluster, network := quiet(2, 2)
						ends = cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error { return role(ctx, f, network) })
					})
					return ends
				}
				back := 0
				ends := play(func(ctx context.Context, f *fleet.Fleet, network transport.Transport) error {
					return lacksItsEnd(ctx, t, f, network, s, part)
				})
				for role, err := range ends {
					if errors.Is(err, fleet.ErrWentBack) {
						back++
					} else if err != nil {
						t.Errorf("%s: %v, want ErrWentBack or nothing", role, err)
					}
				}
				if went += back; back != 0 && back != len(ends) {
					t.Errorf("%d roles of %d went back", back, len(ends))
				}
				for role, err := range play(func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						values, err := c.Values(ctx)
						return errors.Join(err, trial.AllAre(values, values[0]))
					})(ctx, f)
				}) {
					if err != nil {
						t.Errorf("started again: %s: %v", role, err)
					}
				}
			})
		}
	}
	if went == 0 {
		t.Error("nobody ever went back")
	}
}

// lacksItsEnd is a role of a job whose server 1 is killed, and comes back to a part of its journal.
func lacksItsEnd(ctx context.Context, t *testing.T, f *fleet.Fleet, network transport.Transport, s strategy.Strategy, part float64) error {
	const steps = 150
	want := float32(2 * steps)
	if s.Mode == strategy.ModeSync {
		want = steps
	}
	play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, steps, want) }
	if f.ServerIndex() != 1 {
		return play(ctx, f)
	}
	if ended, err := live(ctx, f, network, 700*time.Millisecond, play); ended {
		return fmt.Errorf("it was not killed: %w", err)
	}
	for _, name := range entries(t, s.Recovery.JournalDir) {
		path := filepath.Join(s.Recovery.JournalDir, name)
		if !strings.HasPrefix(name, "server-1") {
			continue
		}
		info, err := os.Stat(path)
		if err == nil {
			err = os.Truncate(path, int64(part*float64(info.Size())))
		}
		if err != nil {
			return err
		}
	}
	_, err := live(ctx, f, network, 0, play)
	return err
}

// TestAServerLosesItsJournal: a server has come back, so that others know of that process, and dies once more, with its journal. All go
// back as soon as the next is there, without a worker that says so too: what it refuses counts, though it has come back from nothing.
//
// Promise: [G6] a server that loses its journal sends all back
func TestAServerLosesItsJournal(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const first, second = 500 * time.Millisecond, 9 * time.Second
	for victim := range 2 {
		t.Run(fmt.Sprint("server ", victim), func(t *testing.T) {
			s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 1)
				began, others := time.Now(), make(chan struct{})
				play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, 2000, 2000) }
				ends := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					switch {
					case f.IsWorker(): // it is cut off when the server has come back
						_, err := live(ctx, f, network, second, play)
						return err
					case f.ServerIndex() != victim:
						defer close(others)
						err := play(ctx, f)
						if took := time.Since(began) - first - second; !errors.Is(err, fleet.ErrWentBack) || took > 3*time.Second { // a heartbeat
							t.Errorf("the other server ends %v after the start: %v", took, err)
						}
						return nil
					}
					for _, after := range []time.Duration{first, second} {
						if ended, err := live(ctx, f, network, after, play); ended {
							return fmt.Errorf("it was not killed: %w", err)
						}
					}
					for _, name := range entries(t, s.Recovery.JournalDir) {
						if strings.HasPrefix(name, fmt.Sprintf("server-%d-of-2.0", victim)) {
							if err := os.Remove(filepath.Join(s.Recovery.JournalDir, name)); err != nil {
								return err
							}
						}
					}
					ctx, cancel := context.WithCancel(ctx) // server 0 begins a job, to which nobody comes
					defer cancel()
					go func() { <-others; cancel() }()
					_, _ = live(ctx, f, network, 0, play)
					return nil
				})
				for role, err := range ends {
					if err != nil {
						t.Errorf("%s: %v", role, err)
					}
				}
			})
		})
	}
}

// TestErrorNamesRollback: a server sends all workers back in the answers to their steps, and its own word to server 0 is slow, as are
// its answers to heartbeats. The workers end at once: what they were told is why server 0 ends too, and not that they have died.
func TestErrorNamesRollback(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeSSP} {
		t.Run(string(mode), func(t *testing.T) {
			s := journaled(strategy.Strategy{Mode: mode, HeartbeatInterval: strategy.Duration(2 * time.Second)}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				slow := &slowWords{network, trial.Requests(t, "", "report"), trial.Requests(t, "", "heartbeat")}
				for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					_, err := live(ctx, f, slow, 0, func(ctx context.Context, f *fleet.Fleet) error { return lacksItsEnd(ctx, t, f, slow, s, 0.5) })
					return err
				}) {
					if !errors.Is(err, fleet.ErrWentBack) || errors.Is(err, fleet.ErrWorkersDied) {
						t.Errorf("%s: %v, want ErrWentBack", role, err)
					}
				}
			})
		})
	}
}

// slowWords is a way to the network on which what servers say to each other comes late, and so do answers to heartbeats.
type slowWords struct {
	transport.Transport
	report, heartbeat func(endpoint string, req [][]byte) bool
}

// Call implements [transport.Transport].
func (n *slowWords) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	late := func(is func(string, [][]byte) bool) {
		if is(endpoint, req) {
			select {
			case <-time.After(time.Second / 10):
			case <-ctx.Done():
			}
		}
	}
	late(n.report)
	defer late(n.heartbeat)
	return n.Transport.Call(ctx, endpoint, req, read)
}

// TestStartedTwiceBesideAServerThatCameBack starts a worker a second time, by mistake, while its first process trains on with a server
// that has come back: the second is refused, as it is by any other server, and the first trains to its end.
//
// Promise: [G6] a process that is started twice by mistake ends no job; no role waits for a process that some servers
// have accepted and others not
// Also: TestALifeThatSomeServersRefuse
func TestStartedTwiceBesideAServerThatCameBack(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(1, 1)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, 300, 300) }
					if f.IsServer() {
						return lives(ctx, f, network, []time.Duration{500 * time.Millisecond}, []time.Duration{100 * time.Millisecond}, play)
					}
					var second error
					var both sync.WaitGroup
					both.Go(func() {
						time.Sleep(time.Second)
						_, second = live(ctx, f, network, 0, play)
					})
					err := play(ctx, f)
					both.Wait()
					if second == nil || !strings.Contains(second.Error(), "start no worker twice") {
						return fmt.Errorf("the second process: %v, want it to be refused; %w", second, err)
					}
					return err
				}))
			})
		})
	}
}

// TestAServersMachineIsAway has nothing answer where server 1 was, not even that nobody listens there, for longer than a worker may be
// silent: the others wait for it as they do for a process.
func TestAServersMachineIsAway(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			const steps = 12
			want := float32(2 * steps)
			if mode == strategy.ModeSync {
				want = steps
			}
			s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalMachine)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				network, streets := transport.NewMemory(), trial.Streets{}
				away := func(away bool) {
					for _, role := range []string{"server 0", "worker 0", "worker 1"} {
						streets.Cut(role, "server 1", away)
					}
				}
				time.AfterFunc(200*time.Millisecond, func() { away(true) })
				time.AfterFunc(2*time.Minute, func() { away(false) })
				cluster := trial.Cluster(2, 2)
				cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					name, deaths := fmt.Sprint("worker ", f.WorkerIndex()), []time.Duration(nil)
					if f.IsServer() {
						name = fmt.Sprint("server ", f.ServerIndex())
					}
					if name == "server 1" {
						deaths = []time.Duration{210 * time.Millisecond}
					}
					play := func(ctx context.Context, f *fleet.Fleet) error { return countSlowly(ctx, f, s, steps, want) }
					return lives(ctx, f, streets.From(name, network), deaths, []time.Duration{100 * time.Second}, play)
				}))
			})
		})
	}
}

// TestAWorkerDiesBesideAServer kills the only worker and one of two servers at once. The worker is back long before the server, for
// which it waits: the job goes on with all that was acknowledged.
func TestAWorkerDiesBesideAServer(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo} {
		t.Run(string(mode), func(t *testing.T) {
			s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 1)
				least := float32(0)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					deaths, pauses, way := []time.Duration{8 * time.Second}, []time.Duration{100 * time.Second}, transport.Transport(network)
					switch {
					case f.ServerIndex() == 0:
						deaths = nil
					case f.IsWorker(): // which comes to the server a moment later than server 0 does
						pauses[0], way = time.Second, trial.Latent(500*time.Millisecond)(network)
					}
					return lives(ctx, f, way, deaths, pauses, func(ctx context.Context, f *fleet.Fleet) error { return countUp(ctx, f, s, &least) })
				}))
			})
		})
	}
}

// countUp counts in two epochs, and looks after each whether all values have grown by as much at least.
func countUp(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, least *float32) error {
	const steps = 6
	c := trial.NewCounter(5)
	return c.Play(ctx, f, s, func() error {
		for range 2 {
			for range steps {
				if err := c.Train(ctx, 1); err != nil {
					return err
				}
				time.Sleep(time.Second)
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
			values, err := c.Values(ctx)
			if err != nil {
				return err
			}
			if *least += steps; slices.Min(values) < *least {
				return fmt.Errorf("values are %v, want %v at least", values, *least)
			}
		}
		return nil
	})
}

// TestPositionsComeBack has a server come back that nobody pushes to any more: a checkpoint still says how far the worker is in its data.
//
// Promise: [G6] positions in the data come back with a server
func TestPositionsComeBack(t *testing.T) {
	t.Parallel()
	const steps = 5
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(1, 1)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						return c.InSession(ctx, func(session optimizer.Session) error {
							if err := c.Steps(ctx, session, steps); err != nil {
								return err
							}
							time.Sleep(2 * time.Second) // the server is killed, and comes back
							return f.Checkpoint(ctx)
						})
					})
					if f.IsServer() {
						return lives(ctx, f, network, []time.Duration{time.Second}, []time.Duration{time.Second / 10}, play)
					}
					return play(ctx, f)
				}))
			})
			first := trial.Manifest(t, filepath.Join(s.Recovery.Dir, "ckpt-000001"))
			if p := first.Positions; len(p) != 1 || len(p[0]) != 1 || p[0][0].Samples != steps {
				t.Errorf("the checkpoint says %+v, want %d samples", p, steps)
			}
		})
	}
}

// TestAReturnedServerKnowsTheDead has a worker of three die, and a server be killed and come back when the others go on without it: nobody
// waits for the dead again.
func TestAReturnedServerKnowsTheDead(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for server := range 2 {
		t.Run(fmt.Sprint("server ", server), func(t *testing.T) {
			s := journaled(strategy.Sync(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every, s.WaitTimeout = strategy.Duration(time.Hour), strategy.Duration(5*time.Minute)
			s.Recovery.WorkerLost = strategy.WorkerGoOn
			synctest.Test(t, func(t *testing.T) {
				network, began := transport.NewMemory(), time.Now()
				cluster := trial.Cluster(2, 3)
				cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
				for role, err := range cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						for range 90 {
							if err := c.Train(ctx, 1); err != nil {
								return err
							}
							time.Sleep(time.Second)
						}
						return nil
					})
					switch {
					case f.IsServer() && f.ServerIndex() == server:
						return lives(ctx, f, network, []time.Duration{time.Minute}, []time.Duration{time.Second}, play)
					case f.WorkerIndex() == 2:
						_, err := live(ctx, f, network, 5*time.Second, play)
						return err
					}
					return play(ctx, f)
				}) {
					if died := errors.Is(err, fleet.ErrWorkersDied); died != strings.HasPrefix(role, "server") || !died && err != nil {
						t.Errorf("%s: %v", role, err)
					}
				}
				if took := time.Since(began); took > 3*time.Minute {
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}

// TestABarrierIsOverOnce has a server be killed when one of two workers has passed a barrier, and the other has no answer yet: it has it
// from the server that comes back, though the first comes to that barrier no more.
func TestABarrierIsOverOnce(t *testing.T) {
	t.Parallel()
	s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
	s.Recovery.Every = strategy.Duration(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		network, began := transport.NewMemory(), time.Now()
		cluster := trial.Cluster(1, 2)
		cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
				time.Sleep(2 * time.Second)
				if err := f.BarrierWorker(ctx); err != nil {
					return err
				}
				if took := time.Since(began); took > 30*time.Second {
					return fmt.Errorf("it has passed the barrier after %v", took)
				}
				time.Sleep(time.Minute)
				return nil
			})
			if f.IsServer() {
				return lives(ctx, f, network, []time.Duration{3 * time.Second}, []time.Duration{time.Second}, play)
			}
			return trial.OnNetwork(ctx, f, &deafToGathers{Transport: network, is: trial.Requests(t, "", "gather"), deaf: f.WorkerIndex() == 1}, play)
		}))
	})
}

// deafToGathers loses the answers to all collectives of the first three seconds.
type deafToGathers struct {
	transport.Transport
	is    func(endpoint string, req [][]byte) bool
	deaf  bool
	began time.Time
}

func (d *deafToGathers) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if d.began.IsZero() {
		d.began = time.Now()
	}
	if d.is(endpoint, req) && d.deaf && time.Since(d.began) < 3*time.Second {
		read = func([]byte) error { return trial.ErrPulled }
	}
	return d.Transport.Call(ctx, endpoint, req, read)
}

// TestALateSave has the messages of a save that is over, the worker's and server 0's orders, come to servers once more, when these were
// killed and have come back since, and makes them come back again: the checkpoint is what it was, and nothing that was trained after it
// is lost.
//
// Promise: [G6] late messages of a save that is over change nothing on servers that have come back
func TestALateSave(t *testing.T) {
	t.Parallel()
	s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
	s.Recovery.Every = strategy.Duration(time.Hour)
	synctest.Test(t, func(t *testing.T) {
		cluster, network := quiet(2, 1)
		var mu sync.Mutex
		var saving [][2]string // endpoint and body
		asks, orders := trial.Requests(t, "server-0:1", "cut "), trial.Requests(t, "server-1:1", "order ")
		heard := &trial.Tap{Transport: network, Before: func(endpoint string, req [][]byte) error {
			if asks(endpoint, req) || orders(endpoint, req) {
				mu.Lock()
				defer mu.Unlock()
				saving = append(saving, [2]string{endpoint, string(slices.Concat(req...))})
			}
			return nil
		}}
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := trial.NewCounter(5)
			play := func(ctx context.Context, f *fleet.Fleet) error {
				return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error {
					if err := errors.Join(c.Train(ctx, 2), f.Checkpoint(ctx), c.Train(ctx, 2)); err != nil {
						return err
					}
					newest, err := checkpoints.Latest(s.Recovery.Dir)
					if err != nil {
						return err
					}
					files, err := filepath.Glob(filepath.Join(newest.Dir, "part-*"))
					if err != nil || len(files) != 2 {
						return fmt.Errorf("the checkpoint has %q: %w", files, err)
					}
					before := append(trial.Read(t, files[0]), trial.Read(t, files[1])...)
					time.Sleep(2 * time.Second) // servers have come back
					mu.Lock()
					late := slices.Clone(saving)
					mu.Unlock()
					for _, m := range late {
						_ = network.Call(ctx, m[0], [][]byte{[]byte(m[1])}, func([]byte) error { return nil })
					}
					time.Sleep(2 * time.Second) // again
					if after := append(trial.Read(t, files[0]), trial.Read(t, files[1])...); !slices.Equal(before, after) {
						return errors.New("the checkpoint was written over")
					}
					return c.Holds(ctx, 4)
				})
			}
			if f.IsServer() {
				c = trial.NewCounter(5)
				return lives(ctx, f, heard, []time.Duration{time.Second, 2 * time.Second}, []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}, play)
			}
			return trial.OnNetwork(ctx, f, heard, play)
		}))
	})
}

// TestEverythingDies kills all roles of a job with a journal at once. Where workers go in step, those that are started again are none of
// the lives that the servers know, so that all go back to the last checkpoint; elsewhere they go on with what the servers have.
func TestEverythingDies(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		t.Run(string(mode), func(t *testing.T) {
			s, err := strategy.Named(string(mode))
			law.Check(t, err)
			s = journaled(s, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				var seen [2][]float32
				all := func(after time.Duration) map[string]error {
					return cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						_, err := live(ctx, f, network, after, func(ctx context.Context, f *fleet.Fleet) error {
							return twoEpochs(ctx, f, s, &seen)
						})
						return err
					})
				}
				all(700 * time.Millisecond)
				lockstep := mode == strategy.ModeSync || mode == strategy.ModeSSP
				for role, err := range all(0) {
					// A worker that has not joined yet when the others go back waits for the next server 0, which is not started here.
					waits := err != nil && strings.Contains(err.Error(), "nobody listens there") && strings.HasPrefix(role, "worker")
					if lockstep && !errors.Is(err, fleet.ErrWentBack) && !waits || !lockstep && err != nil {
						t.Errorf("started again, %s: %v", role, err)
					}
				}
				if lockstep {
					for role, err := range all(0) {
						if err != nil {
							t.Errorf("started once more, %s: %v", role, err)
						}
					}
				}
				least := float32(2 * 2 * 10)
				if mode == strategy.ModeSync {
					least = 2 * 10
				}
				if len(seen[0]) == 0 || !slices.Equal(seen[0], seen[1]) || seen[0][0] < least {
					t.Errorf("workers see %v and %v, want the same, %v at least", seen[0], seen[1], least)
				}
			})
		})
	}
}

// TestGoingBackOutlivesAKill kills all roles of a job in step whenever a role of it ends with an error, as a launcher does: servers come
// back to journals of a run that no worker's process is part of, have decided that all go back, and are killed before they have ended.
// Started again they don't go back for the same reason without end.
//
// Promise: [G5] the decision to go back is made once, even if servers are killed before they end
func TestGoingBackOutlivesAKill(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeSSP} {
		t.Run(string(mode), func(t *testing.T) {
			s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				var seen [2][]float32
				play := func(ctx context.Context, f *fleet.Fleet) error { return twoEpochs(ctx, f, s, &seen) }
				for start := range 5 {
					left := filepath.Join(t.TempDir(), "journal") // what kill -9 leaves of it
					all := deaths{now: make(chan struct{}), note: func() error { return leave(s.Recovery.JournalDir, left) }}
					if start == 0 {
						time.AfterFunc(700*time.Millisecond, all.die)
					}
					ends := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error { return all.live(ctx, f, network, play) })
					if !all.died {
						return
					}
					t.Logf("start %d: %v", start, ends)
					law.Check(t, errors.Join(all.err, os.RemoveAll(s.Recovery.JournalDir), os.Rename(left, s.Recovery.JournalDir)))
				}
				t.Error("a job that was started 5 times still goes back")
			})
		})
	}
}

// leave copies the files of a directory, less those that a process removes meanwhile.
func leave(dir, to string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	err = errors.Join(err, os.Mkdir(to, 0o700))
	for _, name := range names {
		switch data, failed := os.ReadFile(name); {
		case errors.Is(failed, fs.ErrNotExist):
		case failed != nil:
			err = errors.Join(err, failed)
		default:
			err = errors.Join(err, os.WriteFile(filepath.Join(to, filepath.Base(name)), data, 0o600))
		}
	}
	return err
}

// deaths kills several roles at a moment.
type deaths struct {
	now  chan struct{} // closed at that moment
	note func() error  // what is done then
	err  error         // of note
	died bool
	once sync.Once
}

func (d *deaths) die() {
	d.once.Do(func() {
		d.err, d.died = d.note(), true
		close(d.now)
	})
}

// live is one life of a role, whose error is the death of all.
func (d *deaths) live(ctx context.Context, f *fleet.Fleet, network transport.Transport, play func(context.Context, *fleet.Fleet) error) error {
	own := &trial.Cable{Transport: network}
	again, err := trial.Another(f, own)
	if err != nil {
		return err
	}
	defer again.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- play(ctx, again) }()
	select {
	case err := <-ended:
		if err != nil {
			d.die()
		}
		return err
	case <-d.now:
		own.Kill()
		cancel()
		return <-ended
	}
}

// TestAllWorkersDie kills all workers of a job with a journal, and nobody starts them again before servers give them up. Where workers
// don't go in step, the servers that are started with the next workers have what they had, and the workers meet again where some had
// been alone.
func TestAllWorkersDie(t *testing.T) {
	t.Parallel()
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo}) {
		t.Run(string(mode), func(t *testing.T) {
			s, err := strategy.Named(string(mode))
			law.Check(t, err)
			if s = journaled(s, t.TempDir(), strategy.JournalProcess); mode == strategy.ModeGeo {
				s.KSteps = 2
			}
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				var seen [2][]float32
				all := func(after time.Duration) map[string]error {
					return cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						dies := after
						if f.IsServer() {
							dies = 0
						}
						_, err := live(ctx, f, network, dies, func(ctx context.Context, f *fleet.Fleet) error {
							return twoEpochs(ctx, f, s, &seen)
						})
						return err
					})
				}
				for role, err := range all(700 * time.Millisecond) {
					if strings.HasPrefix(role, "server") && !errors.Is(err, fleet.ErrWorkersDied) {
						t.Errorf("%s: %v", role, err)
					}
				}
				for role, err := range all(0) {
					if err != nil {
						t.Errorf("started again, %s: %v", role, err)
					}
				}
				const again = 2 * 2 * 10 // twoEpochs begins anew
				if len(seen[0]) == 0 || !slices.Equal(seen[0], seen[1]) || seen[0][0] < again+10 {
					t.Errorf("workers see %v and %v, want the same, %v at least", seen[0], seen[1], again+10)
				}
			})
		})
	}
}

// TestAJobWithAJournalIsAskedToEnd, all of it, in the middle of an epoch: a checkpoint is saved first, which workers that go in step need,
// and servers leave when workers have; nowhere does a role wait for others that are not there any more.
func TestAJobWithAJournalIsAskedToEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		t.Run(string(mode), func(t *testing.T) {
			roles := []string{"server 0", "server 1", "worker 0", "worker 1"}
			j := &enduring{Job: trial.Jobs(t)[string(mode)], epochs: 4, recovery: strategy.Recovery{Dir: t.TempDir(),
				Every: strategy.Duration(time.Hour), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}}
			var once sync.Once
			var asked time.Time
			j.within = func(_ *fleet.Fleet, epoch, step int) error {
				if epoch == 2 && step == 2 {
					once.Do(func() {
						asked = time.Now()
						for _, role := range roles {
							j.ends[role](errTerminated)
						}
					})
				}
				return nil
			}
			j.run(t)
			for _, role := range roles {
				if took := j.ended[role].Sub(asked); took > stepTime+5*time.Second {
					t.Errorf("%s has ended %v later", role, took)
				}
			}
			latest, err := checkpoints.Latest(j.recovery.Dir)
			if saved := err == nil && latest.Progress.Epoch == 2; !saved {
				t.Errorf("the latest is of epoch %d, error %v\n%s", latest.Progress.Epoch, err, j.log.String())
			}
			again := j.again().run(t)
			if slices.ContainsFunc(roles, func(role string) bool { return again.errs[role] != nil }) && inStep(mode) {
				again = j.again().run(t) // everybody went back, which takes another start
			}
			for role, err := range again.errs {
				if err != nil {
					t.Errorf("started again, %s: %v", role, err)
				}
			}
		})
	}
}

// twoEpochs counts in two epochs with a barrier behind each, to which worker 1 comes late, and has what each worker sees then.
func twoEpochs(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, seen *[2][]float32) error {
	c := trial.CounterFor(s)
	return c.Play(ctx, f, s, func() error {
		return c.InSession(ctx, func(session optimizer.Session) error {
			for range 2 {
				for range 10 {
					if err := c.Steps(ctx, session, 1); err != nil {
						return err
					}
					time.Sleep(time.Duration(20+20*f.WorkerIndex()) * time.Millisecond)
				}
				if err := errors.Join(c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
					return err
				}
			}
			values, err := c.Seen(ctx, session)
			seen[f.WorkerIndex()] = values
			return err
		})
	})
}

// TestAWorkerLeavesAServerThatIsAway: a worker that has done its work says so to a server too that is being started again.
func TestAWorkerLeavesAServerThatIsAway(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			s := journaled(strategy.Strategy{Mode: mode}, t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 1)
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error {
						c := trial.CounterFor(s)
						return c.Play(ctx, f, s, func() error {
							defer time.Sleep(10 * time.Second)
							return errors.Join(c.Train(ctx, 3), f.Checkpoint(ctx))
						})
					}
					if f.ServerIndex() == 1 {
						return lives(ctx, f, network, []time.Duration{9 * time.Second}, []time.Duration{6 * time.Second}, play)
					}
					return play(ctx, f)
				}))
			})
		})
	}
}

// TestTablesMadeTwice: a server that makes its tables anew before it serves has its journal to itself.
func TestTablesMadeTwice(t *testing.T) {
	t.Parallel()
	s := journaled(strategy.Sync(), t.TempDir(), strategy.JournalProcess)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		trial.NoErrors(t, trial.Cluster(1, 1).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			c := trial.NewCounter(5)
			if err := trial.Minimize(f, c, optimizer.SGD{LR: 1}, s); err != nil {
				return err
			}
			if f.IsServer() {
				if err := f.InitServer(ctx, ""); err != nil {
					return err
				}
			}
			return trial.Begin(ctx, f, "", func() error { return errors.Join(c.Train(ctx, 3), c.Holds(ctx, 3)) })
		}))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestSavesWhileServersComeBack: a checkpoint, or a model, that a program asks for is made anew when a server was killed in the middle
// of it.
//
// Promise: [G6] when a server comes back, what is being saved is begun anew, old checkpoints go as if nothing had
// happened, and a period that is being ended ends once
// Also: TestDaysWhileServersComeBack, TestAWorkerLeavesAServerThatIsAway, TestASeriesGoesOn (internal/checkpoint)
func TestSavesWhileServersComeBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 8, func(seed trial.Seed) {
		t.Run(fmt.Sprint(seed.N), func(t *testing.T) {
			s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every = strategy.Duration(time.Hour)
			model := t.TempDir()
			r := rand.New(rand.NewPCG(seed.N, 9))
			synctest.Test(t, func(t *testing.T) {
				network := trial.Latent(5 * time.Millisecond)(transport.NewMemory())
				cluster := trial.Cluster(2, 1)
				cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
				deaths := [2][]time.Duration{}
				for i := range deaths {
					deaths[i] = []time.Duration{time.Duration(1 + r.Int64N(int64(time.Second))), time.Duration(1 + r.Int64N(int64(time.Second)))}
				}
				trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := func(ctx context.Context, f *fleet.Fleet) error {
						c := trial.NewCounter(5)
						return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error {
							for i := range 12 {
								err := c.Train(ctx, 1)
								if err == nil && (i+int(seed.N))%2 == 0 {
									err = f.Checkpoint(ctx)
								} else if err == nil {
									err = errors.Join(f.SaveInferenceModel(ctx, model, c), wasSaved(model, float32(i+1)))
								}
								if err != nil {
									return err
								}
							}
							return c.Holds(ctx, 12)
						})
					}
					if f.IsServer() {
						return lives(ctx, f, network, deaths[f.ServerIndex()], []time.Duration{time.Second / 10, time.Second / 10}, play)
					}
					return play(ctx, f)
				}))
			})
			checkKept(t, s.Recovery.Dir)
		})
	})
}

// TestDaysWhileServersComeBack: a period that a program ends while servers are killed ends once on each, also where two workers end it at
// once, of which one may be told what the other's has dropped.
func TestDaysWhileServersComeBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for workers := 1; workers <= 2; workers++ {
		calm := rowsOfDays(t, 0, workers, false)
		trial.EachSeed(t, 8, func(seed trial.Seed) {
			t.Run(fmt.Sprintf("%d workers/%d", workers, seed.N), func(t *testing.T) {
				if stormy := rowsOfDays(t, seed.N, workers, true); !slices.Equal(calm[0], stormy[0]) || !slices.Equal(calm[workers-1], stormy[workers-1]) {
					t.Errorf("days have dropped %v rows, want %v", stormy, calm)
				}
			})
		})
	}
}

// rowsOfDays are how many rows each day of a job has dropped, as each worker was told, which may have its servers killed.
func rowsOfDays(t *testing.T, seed uint64, workers int, killed bool) (dropped [2][]int) {
	s := journaled(strategy.Sync(), t.TempDir(), strategy.JournalProcess)
	s.Recovery.Every = strategy.Duration(time.Hour)
	r := rand.New(rand.NewPCG(seed, 10))
	synctest.Test(t, func(t *testing.T) {
		network := trial.Latent(5 * time.Millisecond)(transport.NewMemory())
		cluster := trial.Cluster(2, workers)
		cluster.Options.Transport, cluster.Options.Logger = network, slog.New(slog.DiscardHandler)
		var deaths [2][]time.Duration
		for i := range deaths {
			deaths[i] = []time.Duration{time.Duration(1 + r.Int64N(int64(time.Second))), time.Duration(1 + r.Int64N(int64(time.Second)))}
		}
		trial.NoErrors(t, cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			play := func(ctx context.Context, f *fleet.Fleet) error {
				c := trial.NewCounter(5)
				return trial.Play(ctx, f, c, optimizer.SGD{LR: 1}, s, func() error {
					for day := range uint64(20) {
						c.IDs = []uint64{day, 100 + day, 200 + day, 300}
						if err := c.Train(ctx, 1); err != nil {
							return err
						}
						if workers > 1 {
							if err := f.BarrierWorker(ctx); err != nil {
								return err
							}
						}
						freed, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: 2})
						if err != nil {
							return err
						}
						dropped[f.WorkerIndex()] = append(dropped[f.WorkerIndex()], freed["rows"].Rows)
						if workers > 1 {
							if err := f.BarrierWorker(ctx); err != nil {
								return err
							}
						}
					}
					return nil
				})
			}
			if f.IsServer() && killed {
				return lives(ctx, f, network, deaths[f.ServerIndex()], []time.Duration{time.Second / 10, time.Second / 10}, play)
			}
			return play(ctx, f)
		}))
	})
	return dropped
}

// wasSaved reads a model of a counter, and compares all values with the number that they must count.
func wasSaved(dir string, want float32) error {
	file, err := trial.WeightsOf(dir)
	for _, name := range []string{"w", "rows"} {
		if err != nil {
			break
		}
		var values []float32
		if values, err = trial.TensorOf[float32](file, name); err == nil {
			err = trial.AllAre(values, want)
		}
	}
	return err
}
