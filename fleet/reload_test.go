package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// earlier is a checkpoint of three servers, and the model of the same moment.
func earlier(t *testing.T) (saved, model string) {
	t.Helper()
	dir := t.TempDir()
	saved, model = filepath.Join(dir, "saved"), filepath.Join(dir, "model")
	trial.Training{Strategy: strategy.Sync(), To: 3, Save: saved, Model: model, Batch: dealt}.On(t, trial.Cluster(3, 1))
	return saved, model
}

// reloading trains, has worker 0 load while servers run, and one worker makes a step behind it, whose batch all knew before.
type reloading struct {
	dir    string
	params []string
	rule   optimizer.Rule
	who    int // makes the step; -1 for nobody
}

func (l reloading) training(s strategy.Strategy) trial.Training {
	return trial.Training{Strategy: s, Rule: l.rule, After: func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		var next []trial.Sample
		if l.who >= 0 {
			next = trial.FewIDs(20)
		}
		for step := range 4 {
			if err := o.Train(ctx, dealt(f, 9+step), next); err != nil {
				return err
			}
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
		if f.IsFirstWorker() {
			if err := f.LoadModel(ctx, l.dir, l.params...); err != nil {
				return err
			}
		}
		if err := f.BarrierWorker(ctx); err != nil || f.WorkerIndex() != l.who {
			return err
		}
		return o.Train(ctx, trial.FewIDs(20), nil)
	}}
}

// simulated are the weights that a training ends with, in virtual time.
func simulated(t *testing.T, x trial.Training, c fleettest.Cluster) (weights []byte) {
	t.Helper()
	x.Model = t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c.Options.Transport, c.Options.Logger = transport.NewMemory(), slog.New(slog.DiscardHandler)
		c.Run(t, x.Run)
	})
	return trial.Weights(t, x.Model)
}

// TestRunningServersLoad a checkpoint of other servers, or a saved model, while a job trains in every mode: state, counts and rows are those
// that were saved, rows that were trained since are gone, and whoever makes the next step makes it with them, though it had fetched its rows.
//
// Promise: [G6] running servers load a checkpoint of any servers, a saved model, or some of its params at one point
// between steps, with state and counts; the next steps are made with it
// Also: TestRunningServersLoadSome, TestLoadsBesideTraining
func TestRunningServersLoad(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved, model := earlier(t)
	for dir, rule := range map[string]optimizer.Rule{saved: optimizer.Adam{LR: 0.01}, model: optimizer.SGD{LR: 0.1}} {
		alone := trial.Training{Strategy: strategy.Sync(), Rule: rule, Load: dir, After: func(ctx context.Context, _ *fleet.Fleet, o *trial.Toy) error {
			return o.Train(ctx, trial.FewIDs(20), nil)
		}}
		want := alone.Weights(t, trial.Cluster(0, 1))
		for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP, strategy.ModeGeo}) {
			if mode == strategy.ModeGeo && dir == saved {
				continue // it has no state of a rule
			}
			for _, who := range []int{0, 1} {
				t.Run(fmt.Sprintf("%s/%s/%d", filepath.Base(dir), mode, who), func(t *testing.T) {
					s, err := strategy.Named(string(mode))
					law.Check(t, err)
					got := simulated(t, reloading{dir: dir, rule: rule, who: who}.training(s), trial.Cluster(2, 2))
					if far := trial.Distance(t, want, got); far > 1e-6 {
						t.Errorf("%g away from a job that begins from %s", far, dir)
					}
				})
			}
		}
	}
}

// TestRunningServersLoadSome params: those are what was saved, and the others what they would have been.
func TestRunningServersLoadSome(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved, model := earlier(t)
	params := []string{"big", "emb"}
	then, now := trial.Weights(t, model), simulated(t, trial.Training{Strategy: strategy.Sync(), Batch: dealt, From: 9, To: 13}, trial.Cluster(2, 2))
	got := simulated(t, reloading{dir: saved, params: params, who: -1}.training(strategy.Sync()), trial.Cluster(2, 2))
	for _, name := range []string{"w", "b", "big", "emb", "open"} {
		want := now
		if slices.Contains(params, name) {
			want = then
		}
		if !slices.Equal(trial.Tensor[float32](t, got, name), trial.Tensor[float32](t, want, name)) {
			t.Errorf("%s is not what it should be", name)
		}
	}
}

// TestLoadsThatFail leave everything as it was, on whichever server: a directory of nothing, of another model, of half a checkpoint, and
// one whose parts are damaged.
//
// Promise: [G6] a load that fails changes nothing; one that some servers have taken, and others perhaps not, ends the
// job; a server that comes back has it
// Also: TestLoadsOutliveServers, TestALoadOutlivesItsWorker (internal/client), TestMessagesOfALoadComeTwice
// (internal/client), TestLoadsGivenUp (internal/client)
func TestLoadsThatFail(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	saved, _ := earlier(t)
	other := filepath.Join(dir, "other")
	trial.Cluster(0, 1).Run(t, trial.Counters(3, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter) error {
		return f.SavePersistables(ctx, other)
	}))
	damaged := filepath.Join(dir, "damaged")
	law.Check(t, os.CopyFS(damaged, os.DirFS(saved)))
	part := filepath.Join(damaged, trial.Manifest(t, saved).Parts[2].File)
	data := trial.Read(t, part)
	data[len(data)-1]++
	law.Check(t, os.WriteFile(part, data, 0o600))
	half := filepath.Join(dir, "half")
	trial.Training{Strategy: strategy.Sync(), Save: half}.On(t, trial.Cluster(1, 1))
	law.Check(t, os.Remove(filepath.Join(half, "manifest.json")))
	bad := map[string]string{dir: "no checkpoint", other: "of another model", damaged: "checksum", half: "no checkpoint", "": "empty"}
	plain := trial.Training{Strategy: strategy.Sync(), Batch: dealt, To: 4}
	want := simulated(t, plain, trial.Cluster(2, 2))
	x := plain
	x.To = 2
	x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		if f.IsFirstWorker() {
			for dir, says := range bad {
				if err := f.LoadModel(ctx, dir); err == nil || !strings.Contains(err.Error(), says) {
					t.Errorf("%s: error %v, want %q", dir, err, says)
				}
			}
			if err := f.LoadModel(ctx, saved, "nothing"); err == nil {
				t.Error("a param that the model has not was loaded")
			}
		}
		return errors.Join(o.Train(ctx, dealt(f, 2), nil), o.Train(ctx, dealt(f, 3), nil))
	}
	if !bytes.Equal(simulated(t, x, trial.Cluster(2, 2)), want) {
		t.Error("loads that failed have changed something")
	}
}

// TestLoadsBesideTraining count: all weights and rows of both servers have the steps behind one cut, whenever worker 0 loads.
func TestLoadsBesideTraining(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved := filepath.Join(t.TempDir(), "saved")
	trial.Cluster(1, 1).Run(t, trial.Counters(5, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		return errors.Join(c.Train(ctx, 1000), f.SavePersistables(ctx, saved))
	}))
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeSSP} {
		trial.EachSeed(t, 3, func(seed trial.Seed) {
			t.Run(fmt.Sprintf("%s/%d", mode, seed.N), func(t *testing.T) {
				s, err := strategy.Named(string(mode))
				law.Check(t, err)
				synctest.Test(t, func(t *testing.T) {
					c := trial.Cluster(2, 2)
					c.Options.Logger = slog.New(slog.DiscardHandler)
					c.Options.Transport = trial.Latent(time.Millisecond)(transport.NewMemory())
					c.Run(t, trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						if f.IsFirstWorker() {
							if err := c.Train(ctx, 3+int(seed.N)); err != nil {
								return err
							}
							if err := f.LoadModel(ctx, saved); err != nil {
								return err
							}
						}
						if err := errors.Join(c.Train(ctx, 12-f.WorkerIndex()), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						values, err := c.Values(ctx)
						if err != nil {
							return err
						}
						if values[0] < 1000+12/2 || values[0] > 1000+2*12 {
							t.Errorf("%v steps after a load of 1000", values[0])
						}
						return trial.AllAre(values, values[0])
					}))
				})
			})
		})
	}
}

// TestLoadsOutliveServers that keep a journal and are killed behind a load: they come back to it, from the directory or from the checkpoint
// that is saved behind it.
func TestLoadsOutliveServers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved := filepath.Join(t.TempDir(), "saved")
	trial.Cluster(1, 1).Run(t, trial.Counters(5, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		return errors.Join(c.Train(ctx, 1000), f.SavePersistables(ctx, saved))
	}))
	for from, beats := range map[string]time.Duration{"the directory": 10 * time.Second, "the checkpoint": 20 * time.Millisecond} {
		t.Run(from, func(t *testing.T) {
			s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
			s.Recovery.Every, s.HeartbeatInterval = strategy.Duration(time.Hour), strategy.Duration(beats)
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 1)
				cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
						if err := errors.Join(c.Train(ctx, 3), f.LoadModel(ctx, saved), c.Train(ctx, 2)); err != nil {
							return err
						}
						time.Sleep(time.Second) // in which both die
						return errors.Join(c.Train(ctx, 2), f.BarrierWorker(ctx), c.Holds(ctx, 1004))
					})
					if f.IsServer() {
						death := []time.Duration{time.Duration(300+200*f.ServerIndex()) * time.Millisecond}
						return lives(ctx, f, network, death, []time.Duration{50 * time.Millisecond}, play)
					}
					return play(ctx, f)
				})
			})
		})
	}
}

// TestACheckpointBehindALoadIsStillWanted by a server 0 that was killed between the two: the lowest worker saves one within a heartbeat.
func TestACheckpointBehindALoadIsStillWanted(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	saved := filepath.Join(t.TempDir(), "saved")
	trial.Cluster(1, 1).Run(t, trial.Counters(5, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
		return errors.Join(c.Train(ctx, 1000), f.SavePersistables(ctx, saved))
	}))
	for _, loads := range []bool{true, false} {
		s := journaled(strategy.Async(), t.TempDir(), strategy.JournalProcess)
		s.Recovery.Every = strategy.Duration(time.Hour)
		synctest.Test(t, func(t *testing.T) {
			cluster, network := quiet(2, 1)
			cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				play := trial.Counters(5, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					if err := c.Train(ctx, 3); err != nil {
						return err
					}
					if loads {
						if err := f.LoadModel(ctx, saved); err != nil {
							return err
						}
					}
					time.Sleep(time.Minute) // in which server 0 dies, before a heartbeat
					if _, err := checkpoints.Latest(s.Recovery.Dir); errors.Is(err, checkpoints.ErrNone) == loads {
						t.Errorf("loaded: %v; a minute later the newest checkpoint: %v", loads, err)
					}
					return nil
				})
				if f.IsServer() && f.ServerIndex() == 0 {
					death := []time.Duration{300 * time.Millisecond}
					return lives(ctx, f, network, death, []time.Duration{50 * time.Millisecond}, play)
				}
				return play(ctx, f)
			})
		})
	}
}
