package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWorkersAreExpectedBack: all workers of a job without rounds are asked to end, and are started again later, as an operator does that
// makes pods anew after a pause that grows. Servers that have a checkpoint or a journal wait for them as long as workers wait for a
// server, and the job ends well; those that wait in vain end with what has all roles started again.
//
// Promise: [G5] servers wait RestartTimeout for workers that were asked to end or killed
func TestWorkersAreExpectedBack(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo}) {
		for name, k := range trial.SomeOf(t, map[string]struct {
			journal strategy.Journal
			away    time.Duration
			well    bool
		}{
			"a checkpoint": {"", 100 * time.Second, true}, "a journal": {strategy.JournalProcess, 280 * time.Second, true},
			"in vain": {"", 400 * time.Second, false}, "in vain, with a journal": {strategy.JournalProcess, 400 * time.Second, false},
		}) {
			t.Run(string(mode)+", "+name, func(t *testing.T) {
				s, err := strategy.Named(string(mode))
				law.Check(t, err)
				dir := t.TempDir()
				s.Recovery = strategy.Recovery{Dir: dir + "/checkpoints", Every: strategy.Duration(time.Hour)}
				if k.journal != "" {
					s.Recovery.Journal, s.Recovery.JournalDir = k.journal, dir+"/journal"
				}
				if mode == strategy.ModeGeo {
					s.KSteps = 2
				}
				synctest.Test(t, func(t *testing.T) {
					cluster, network := quiet(2, 2)
					var seen [2][]float32
					began, took := time.Now(), map[string]time.Duration{}
					errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						if f.IsServer() {
							err := twoEpochs(ctx, f, s, &seen)
							if f.ServerIndex() == 0 {
								took["server"] = time.Since(began)
							}
							return err
						}
						return againAfter(ctx, f, network, k.away, func(ctx context.Context, f *fleet.Fleet) error {
							return twoEpochs(ctx, f, s, &seen)
						})
					})
					for role, err := range errs {
						switch server := strings.HasPrefix(role, "server"); {
						case k.well && err != nil:
							t.Errorf("%s: %v", role, err)
						case k.well || !server:
						case !errors.Is(err, fleet.ErrDeserted) || !errors.Is(err, fleet.ErrWorkersDied) || !errors.Is(err, fleet.ErrWentBack):
							t.Errorf("%s: %v", role, err)
						}
					}
					if took := took["server"]; !k.well && (took < 5*time.Minute || took > 6*time.Minute) {
						t.Errorf("servers have waited %v, want 5 minutes behind the deaths", took)
					}
				})
			})
		}
	}
}

// againAfter plays a worker that is asked to end, and one in its place that is started some time later.
func againAfter(ctx context.Context, f *fleet.Fleet, network transport.Transport, away time.Duration,
	play func(context.Context, *fleet.Fleet) error) error {
	asked, end := context.WithCancelCause(ctx)
	defer end(nil)
	time.AfterFunc(500*time.Millisecond, func() { end(errTerminated) })
	if err := play(asked, f); err == nil {
		return errors.New("it has come to its end before it was asked to: the test shows nothing")
	}
	f.Close()
	time.Sleep(away)
	return trial.OnNetwork(ctx, f, network, play)
}

// TestServersOfASavedJobAreAskedToEnd: all workers were asked to end, have saved and are gone, and so nothing goes with servers that are
// asked too, at once or while they wait for workers that come back. Where workers were killed behind a checkpoint, what came after it does.
func TestServersOfASavedJobAreAskedToEnd(t *testing.T) {
	t.Parallel()
	type played struct {
		mode   strategy.Mode
		after  time.Duration
		killed bool
	}
	var all []played
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo}) {
		all = append(all, played{mode, 500 * time.Millisecond, false}, played{mode, 10 * time.Second, false},
			played{mode, 100 * time.Second, false}, played{mode, 10 * time.Second, true})
	}
	for _, k := range all {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			s, err := strategy.Named(string(k.mode))
			law.Check(t, err)
			s.Recovery = strategy.Recovery{Dir: t.TempDir(), Every: strategy.Duration(time.Hour)}
			if k.killed {
				s.Recovery.Every = strategy.Duration(300 * time.Millisecond)
			}
			if k.mode == strategy.ModeGeo {
				s.KSteps = 2
			}
			synctest.Test(t, func(t *testing.T) {
				cluster, network := quiet(2, 2)
				var seen [2][]float32
				var unsaved atomic.Int32
				errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					asked, end := context.WithCancelCause(ctx)
					defer end(nil)
					play := func(ctx context.Context, f *fleet.Fleet) error { return twoEpochs(ctx, f, s, &seen) }
					switch {
					case f.IsServer():
						time.AfterFunc(k.after, func() { end(errTerminated) })
						err := play(asked, f)
						if errors.Is(f.Unsaved(), fleet.ErrUnsaved) {
							unsaved.Add(1)
							if !strings.Contains(err.Error(), "ckpt-") {
								t.Errorf("the error does not name the checkpoint: %v", err)
							}
						}
						return err
					case k.killed:
						_, err := live(asked, f, network, 550*time.Millisecond, play)
						return err
					}
					time.AfterFunc(500*time.Millisecond, func() { end(errTerminated) })
					return play(asked, f)
				})
				if _, err := checkpoints.Latest(s.Recovery.Dir); err != nil {
					t.Error(err)
				}
				over := k.killed && errors.Is(errors.Join(slices.Collect(maps.Values(errs))...), fleet.ErrWorkersDied)
				if n := unsaved.Load(); (n > 0) != k.killed && !over { // the first server that ends may end the other
					t.Errorf("%d servers say that what was trained is not saved: %v", n, errs)
				}
			})
		})
	}
}
