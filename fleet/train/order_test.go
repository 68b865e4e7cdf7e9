package train_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestAnotherOrder: a job that goes on in the middle of an epoch says on its first worker where its rows are not in the order that the
// checkpoint counts them in. Between epochs, where all is as it was, and where the checkpoint doesn't know, it says nothing.
func TestAnotherOrder(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const none, middle, earlier = "none", "middle", "earlier"
	for name, c := range trial.SomeOf(t, map[string]struct {
		seed  uint64
		rows  int
		saved string // in the second epoch: not, in its middle, or there by an earlier version
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
		"earlier": {9, 500, earlier, 0, "goes on after epoch 1/3 and 96 examples"},
	}) {
		for _, servers := range []int{0, 2} {
			dir, enough := t.TempDir(), errors.New("enough")
			stops := func(ctx context.Context, r *train.Run, so nn.TrainResult) (err error) {
				if r.Epoch == 0 || so.Steps < 6 {
					return nil
				}
				if c.saved == earlier {
					err = r.Fleet.SetProgress(fleet.Progress{Epoch: 1, User: []byte(`{"history": []}`)})
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

// TestTakenByAnEarlierVersion: a job that goes on in the middle of an epoch whose rows an earlier version has taken says that it can't have
// the same.
func TestTakenByAnEarlierVersion(t *testing.T) {
	t.Parallel()
	file, format := coins(t, 400)
	make := func(dir string, hooks ...train.Hooks) train.Job {
		g := nn.NewGraph(1)
		pred := nn.Sigmoid(nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Dim: 1}))
		return train.Job{Options: train.Options{Epochs: 3, Batch: 10, Seed: 1, Checkpoint: dir}, Rule: optimizer.SGD{LR: 0.1},
			Loss: nn.Mean(nn.LogLoss(pred, g.Input("y", 1))), Hooks: hooks,
			Files: train.Files{Format: format, Paths: []string{file}, Take: 200, Seed: 1}}
	}
	for saved, warns := range map[string]int{`{"order": {"seed": 1}}`: 1, "": 0} {
		dir, enough := t.TempDir(), errors.New("enough")
		stops := train.Hooks{Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) (err error) {
			if r.Epoch == 0 || so.Steps < 6 {
				return nil
			}
			if saved != "" {
				err = r.Fleet.SetProgress(fleet.Progress{Epoch: 1, User: []byte(saved)})
			}
			return errors.Join(err, r.Fleet.Checkpoint(ctx), enough)
		}}
		if err := fails(t, func() train.Job { return make(dir, stops) }); !errors.Is(err, enough) {
			t.Fatal(err)
		}
		_, said := play(t, 0, 1, func() train.Job { return make(dir) })
		if strings.Count(said, "warning: ") != warns || warns > 0 && !strings.Contains(said, "Files.Take") {
			t.Errorf("saved %q: it says\n%s", saved, said)
		}
	}
}
