package fleet_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// inParts cuts worker w's part of a batch of 24 into k batches.
func inParts(workers, k int) func(w, step int) []sample {
	return func(w, step int) []sample {
		n := 24 / workers / k
		return samples(24, step/k)[w*n*k:][step%k*n:][:n]
	}
}

// TestMergedStepsAreOne: k steps of which one push is made train as one step on all of theirs, with servers, without and alone.
func TestMergedStepsAreOne(t *testing.T) {
	const k = 4 // divides 24 / 3
	sync, async, half, ssp := strategy.Sync(), strategy.Async(), strategy.HalfAsync(), strategy.SSP(0)
	rules := laws()
	rules["clipped"] = clips()["all"]
	for name, rule := range rules {
		whole := steadily(t, fleettest.Cluster{}, rule, strategy.Strategy{}, lawSteps, inParts(1, 1))
		for job, c := range map[string]struct {
			cluster fleettest.Cluster
			s       strategy.Strategy
		}{
			"sync": {fleettest.Cluster{Servers: 2, Workers: 3}, sync}, "one worker, sync": {fleettest.Cluster{Servers: 2, Workers: 1}, sync},
			"async": {fleettest.Cluster{Servers: 2, Workers: 1}, async}, "half_async": {fleettest.Cluster{Servers: 2, Workers: 1}, half},
			"ssp": {fleettest.Cluster{Servers: 1, Workers: 1}, ssp}, "alone": {fleettest.Cluster{}, async}, "collective": {fleettest.Cluster{Workers: 2}, sync},
		} {
			c.s.GradientMerge.KSteps = k
			workers := max(1, c.cluster.Workers)
			got := steadily(t, c.cluster, rule, c.s, k*lawSteps, inParts(workers, k))
			if far := distance(t, whole, got); far > 1e-5 {
				t.Errorf("%s, %s: %g away from steps on whole batches", name, job, far)
			}
		}
	}
}

// TestTheRestIsPushed: what is left over at the end of an epoch, at a barrier, at a session's end and at the worker's end counts, in
// every mode that merges, whether other workers and threads have something left over or not.
func TestTheRestIsPushed(t *testing.T) {
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
				fleettest.Run(t, 2, 3, func(ctx context.Context, f *fleet.Fleet) error {
					c := newCounter(3)
					trainer, err := c.join(ctx, f, s)
					if err != nil || trainer == nil {
						return err
					}
					session, err := trainer.Open(c.Params())
					if err != nil {
						return err
					}
					for range 3 * (f.WorkerIndex() + 1) {
						st := c.step(false)
						if err := session.Begin(ctx, st); err != nil {
							return err
						}
						for i := range c.w.G {
							c.w.G[i] = -1 // a push leaves the merged gradient there
						}
						if err := session.End(ctx, st); err != nil {
							return err
						}
					}
					if err := end(ctx, f, trainer, session); err != nil {
						return err
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
					if err := session.Close(ctx); err != nil {
						return err
					}
					if got, err := c.weight(ctx, trainer); err != nil || math.Abs(float64(got-want)) > 1e-5 {
						t.Errorf("worker %d: a weight is %v, want %v, error %v", f.WorkerIndex(), got, want, err)
					}
					return f.StopWorker(ctx)
				})
			})
		}
	}
}

// weight reads a weight from the servers, in a session of its own.
func (c *counter) weight(ctx context.Context, trainer optimizer.Trainer) (float32, error) {
	own := newCounter(len(c.w.W))
	session, err := trainer.Open(own.Params())
	if err != nil {
		return 0, err
	}
	if err := session.Begin(ctx, own.step(true)); err != nil {
		return 0, err
	}
	return own.w.W[0], session.Close(ctx)
}

// TestMergedResume: a training that merges, saved at an epoch's end and resumed on another number of servers, goes on as if it had not
// stopped; whoever trains on has the pushes of its rest in the checkpoint too.
func TestMergedResume(t *testing.T) {
	s := strategy.Sync()
	s.GradientMerge.KSteps = 3
	for half, wantPushes := range map[int]int64{6: 2, 4: 2} { // the fourth step is a push of its own at the barrier
		whole, saved, resumed := t.TempDir(), t.TempDir(), t.TempDir()
		leg{to: half, save: saved}.on(t, 2, 2, s)
		if got := manifest(t, saved).Step; got != wantPushes {
			t.Errorf("the checkpoint after %d steps is of update %d, want %d", half, got, wantPushes)
		}
		if half%3 != 0 {
			continue
		}
		leg{to: 9, model: whole}.on(t, 2, 2, s)
		leg{from: half, to: 9, load: saved, model: resumed}.on(t, 3, 2, s)
		want, got := read(t, filepath.Join(whole, "weights.safetensors")), read(t, filepath.Join(resumed, "weights.safetensors"))
		if far := distance(t, want, got); far != 0 {
			t.Errorf("weights differ by up to %g", far)
		}
	}
}
