package fleet_test

import (
	"context"
	"math"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// inParts cuts a worker's part of a batch of 24 into k batches.
func inParts(k int) func(f *fleet.Fleet, step int) []trial.Sample {
	return func(f *fleet.Fleet, step int) []trial.Sample {
		n := 24 / f.WorkerNum() / k
		return trial.Share(f, step/k)[step%k*n:][:n]
	}
}

// TestMergedStepsAreOne: k steps of which one push is made train as one step on all of theirs, with servers, without and alone.
//
// Promise: [G2] steps that are merged are one, and what is left at an epoch's end is pushed
// Also: TestTheRestIsPushed
func TestMergedStepsAreOne(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const k = 4 // divides 24 / 3
	rules := trial.Rules()
	rules["clipped"] = trial.Clips()["all"]
	for name, rule := range trial.SomeOf(t, rules) {
		whole := steadily(rule, strategy.Strategy{}, inParts(1)).Weights(t, trial.Cluster(0, 0))
		for job, c := range trial.SomeOf(t, map[string]trial.Job{
			"sync": {Cluster: trial.Cluster(2, 3), Strategy: strategy.Sync()}, "one worker, sync": {Cluster: trial.Cluster(2, 1), Strategy: strategy.Sync()},
			"async": {Cluster: trial.Cluster(2, 1), Strategy: strategy.Async()}, "half_async": {Cluster: trial.Cluster(2, 1), Strategy: strategy.HalfAsync()},
			"ssp": {Cluster: trial.Cluster(1, 1), Strategy: strategy.SSP(0)}, "alone": {Strategy: strategy.Async()},
			"collective": {Cluster: trial.Cluster(0, 2), Strategy: strategy.Sync()},
		}) {
			c.Strategy.GradientMerge.KSteps = k
			x := steadily(rule, c.Strategy, inParts(k))
			x.To *= k
			if far := trial.Distance(t, whole, x.Weights(t, c.Cluster)); far > 1e-5 {
				t.Errorf("%s, %s: %g away from steps on whole batches", name, job, far)
			}
		}
	}
}

// TestTheRestIsPushed: what is left over at the end of an epoch, at a barrier, at a session's end and at the worker's end counts,
// in every mode that merges, whether other workers and threads have something left over or not.
func TestTheRestIsPushed(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	ends := map[string]func(context.Context, *fleet.Fleet, optimizer.Trainer, optimizer.Session) error{
		"epoch": func(ctx context.Context, _ *fleet.Fleet, tr optimizer.Trainer, _ optimizer.Session) error {
			return tr.EndEpoch(ctx)
		},
		"barrier": func(ctx context.Context, f *fleet.Fleet, _ optimizer.Trainer, _ optimizer.Session) error {
			return f.BarrierWorker(ctx)
		},
		"close": func(ctx context.Context, _ *fleet.Fleet, tr optimizer.Trainer, s optimizer.Session) error {
			if err := s.Close(ctx); err != nil {
				return err
			}
			return tr.EndEpoch(ctx)
		},
	}
	for name, end := range ends {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), strategy.HalfAsync(), strategy.SSP(1)} {
			s.GradientMerge = strategy.GradientMerge{KSteps: 4, Sum: true}
			want := float32(3 + 6 + 9) // steps of the workers, each of which counts
			if s.Mode == strategy.ModeSync {
				s.Weighting = strategy.WeightEqual
				want = (3+4+4)/3. + (2+4)/2. + 1 // rounds: of all, without worker 0, of worker 2
			}
			t.Run(name+" "+string(s.Mode), func(t *testing.T) {
				fleettest.Run(t, 2, 3, trial.Counters(3, s, func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					session, err := c.OpenSession()
					if err != nil {
						return err
					}
					if err := c.Steps(ctx, session, 3*(f.WorkerIndex()+1)); err != nil {
						return err
					}
					if err := end(ctx, f, c.Trainer, session); err != nil {
						return err
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
					if err := session.Close(ctx); err != nil {
						return err
					}
					own := trial.NewCounter(3)
					own.Bind(c.Trainer)
					if got, err := own.Values(ctx); err != nil || math.Abs(float64(got[0]-want)) > 1e-5 {
						t.Errorf("worker %d: weights are %v, want %v, error %v", f.WorkerIndex(), got, want, err)
					}
					return nil
				}))
			})
		}
	}
}

// TestMergedResume: a training that merges, saved at an epoch's end and resumed on another number of servers, goes on as if it
// had not stopped; whoever trains on has the pushes of its rest in the checkpoint too.
func TestMergedResume(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	s := strategy.Sync()
	s.GradientMerge.KSteps = 3
	for half, wantPushes := range map[int]int64{6: 2, 4: 2} { // the fourth step is a push of its own at the barrier
		saved := t.TempDir()
		trial.Training{Strategy: s, To: half, Save: saved}.On(t, trial.Cluster(2, 2))
		if got := trial.Manifest(t, saved).Step; got != wantPushes {
			t.Errorf("the checkpoint after %d steps is of update %d, want %d", half, got, wantPushes)
		}
		if half%3 != 0 {
			continue
		}
		want := trial.Training{Strategy: s, To: 9}.Weights(t, trial.Cluster(2, 2))
		got := trial.Training{Strategy: s, From: half, To: 9, Load: saved}.Weights(t, trial.Cluster(3, 2))
		if far := trial.Distance(t, want, got); far != 0 {
			t.Errorf("weights differ by up to %g", far)
		}
	}
}
