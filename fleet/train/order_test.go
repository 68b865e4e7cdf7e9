package train_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
)

// TestAnotherOrder: a job that goes on in the middle of an epoch says on its first worker where its rows are not in the order that the
// checkpoint counts them in. Between epochs, where all is as it was, and where the checkpoint doesn't know, it says nothing.
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const none, middle = "none", "middle"
	for name, c := range trial.SomeOf(t, map[string]struct {
		seed  uint64
		rows  int
		saved string // in the second epoch: not, or in its middle
		warns int
		says  string
	}{
		"same":    {1, 400, middle, 0, "goes on after epoch 1/3 and 96 examples"},
		"seed":    {9, 400, middle, 1, "-seed=1, and this job has -seed=9: the rest of epoch 2 comes in"},
		"fewer":   {1, 100, middle, 1, "400 training rows, and this job has 100: as many rows of epoch 2 are"},
		"passed":  {1, 100, middle, 1, "nothing is left to train: 50 examples are in the checkpoint\n"},
		"both":    {0, 600, middle, 2, "-seed=1, and this job has -seed=0"},
		"others":  {1, -400, middle, 1, "other training rows, as many as this job has (400)"},
		"between": {9, 500, none, 0, "goes on after epoch 1/3 and 0 examples"},
	}) {
		for _, servers := range []int{0, 2} {
			dir, enough := t.TempDir(), errors.New("enough")
			stops := func(ctx context.Context, r *train.Run, so nn.TrainResult) (err error) {
				if r.Epoch == 0 || so.Steps < 6 {
					return nil
				}
				if c.saved != none {
					err = errors.Join(err, r.Fleet.BarrierWorker(ctx), r.Fleet.Checkpoint(ctx), r.Fleet.BarrierWorker(ctx))
				}
				return errors.Join(err, enough)
			}
			fleettest.Cluster{Servers: servers, Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Mode: "sync", Epochs: 3, Batch: 16, Seed: 1, Checkpoint: dir})
				j.Stdout, j.Hooks = io.Discard, []train.Hooks{{Step: stops}}
				_, err := j.Run(ctx, f)
				return err
			})
			_, said := play(t, servers, 2, func() train.Job {
				j := job(train.Options{Mode: "sync", Epochs: 3, Batch: 16, Seed: c.seed, Checkpoint: dir})
				if j.Data = data(c.rows, 0); c.rows < 0 {
					j.Data = given(points(-c.rows).MapFloats("x", func(x float32) float32 { return x / 2 }), nil)
				}
				return j
			})
			if strings.Count(said, "warning: ") != c.warns || !strings.Contains(said, c.says) || strings.Contains(said, "  0 examples") {
				t.Errorf("%s, %d servers: worker 0 doesn't say %q, in %d warnings:\n%s", name, servers, c.says, c.warns, said)
			}
		}
	}
}

// TestAnotherOrderOfEachWorker: in an async job that goes on with another seed each worker says so, wherever the others stand.
func TestAnotherOrderOfEachWorker(t *testing.T) {
	t.Parallel()
	for slow := range 2 {
		dir := t.TempDir()
		var said [2]bytes.Buffer
		for _, seed := range []uint64{1, 9} {
			synctest.Test(t, func(t *testing.T) {
				whole, end := context.WithCancelCause(t.Context())
				defer end(nil)
				said = [2]bytes.Buffer{}
				trial.Cluster(1, 2).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					ctx, cancel := context.WithCancelCause(ctx)
					defer cancel(nil)
					defer context.AfterFunc(whole, func() { cancel(context.Cause(whole)) })()
					j := job(train.Options{Mode: "async", Epochs: 3, Batch: 16, Seed: seed, Checkpoint: dir})
					j.Data = data(400, 0)
					if f.IsWorker() {
						j.Stdout = &said[f.WorkerIndex()]
					}
					j.Hooks = []train.Hooks{{Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
						if f.WorkerIndex() == slow {
							time.Sleep(time.Second)
						}
						if seed == 1 && f.WorkerIndex() == slow && r.Epoch == 1 && so.Steps == 5 {
							err := r.Fleet.Checkpoint(ctx)
							end(errors.New("enough"))
							return err
						}
						return nil
					}}}
					_, err := j.Run(ctx, f)
					return err
				})
			})
		}
		for i := range said {
			if !strings.Contains(said[i].String(), "and this job has -seed=9") {
				t.Errorf("worker %d is slow, and worker %d doesn't warn of another order:\n%s", slow, i, said[i].String())
			}
		}
	}
}

// TestProgressOfAnotherVersion: a job doesn't go on from progress of another version, and names both.
func TestProgressOfAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	make := func(hooks ...train.Hooks) train.Job {
		j := job(train.Options{Epochs: 2, Checkpoint: dir})
		j.Stdout, j.Hooks = io.Discard, hooks
		return j
	}
	enough := errors.New("enough")
	stops := train.Hooks{Step: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
		err := r.Fleet.SetProgress(fleet.Progress{User: []byte(`{"history": []}`)})
		return errors.Join(err, r.Fleet.Checkpoint(ctx), enough)
	}}
	if err := fails(t, func() train.Job { return make(stops) }); !errors.Is(err, enough) {
		t.Fatal(err)
	}
	saved, _ := filepath.Glob(filepath.Join(dir, "ckpt-*", "*"))
	err := fails(t, func() train.Job { return make() })
	if now, _ := filepath.Glob(filepath.Join(dir, "ckpt-*", "*")); len(saved) == 0 || !slices.Equal(now, saved) {
		t.Errorf("checkpoints were %q, are %q", saved, now)
	}
	if err == nil || !strings.Contains(err.Error(), "progress is of version 0, this build reads version 2") {
		t.Errorf("it goes on: %v", err)
	}
}
