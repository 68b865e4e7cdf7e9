package train_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn/serve"
)

// TestMissingCheckpointSuggestsDirectories: who names a directory that has no checkpoint, or no model, is told of those in it, or beside
// it.
//
// Promise: [G6] a job does not begin anew where it was to go on from a checkpoint, or a model, that is no series
// Also: TestServersRefuseAMisplacedSeries
func TestMissingCheckpointSuggestsDirectories(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	out := filepath.Join(parent, "signs")
	checkpoint, model, series := filepath.Join(out, "checkpoint"), filepath.Join(out, "model"), filepath.Join(parent, "series")
	law.Check(t, fails(t, func() train.Job { return job(train.Options{Out: out, Checkpoint: series}) }))
	newest, err := filepath.Glob(filepath.Join(series, "ckpt-*"))
	if err != nil || len(newest) != 1 {
		t.Fatalf("checkpoints %q, error %v", newest, err)
	}
	both := ": did you mean " + checkpoint + ", or " + model + "?"
	for _, c := range []struct {
		o    train.Options
		want string
	}{
		{train.Options{Load: out}, "and no saved model" + both},
		{train.Options{Load: filepath.Join(out, "chekpoint")}, ": the directory does not exist" + both},
		{train.Options{Load: series}, ": did you mean " + newest[0] + "?"},
		{train.Options{Load: filepath.Join(parent, "nowhere", "at", "all")}, ": the directory does not exist"},
		{train.Options{Checkpoint: checkpoint}, checkpoint + " is a checkpoint itself, and has no checkpoints ckpt-… to go on from: Restore (-load)"},
		{train.Options{Checkpoint: model}, model + " is a saved model itself"},
	} {
		if err := fails(t, func() train.Job { return job(c.o) }); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v does not say %q", c.o, err, c.want)
		}
	}
	meant := ": did you mean " + model + "?"
	for dir, want := range map[string]string{out: meant, checkpoint: meant, parent: meant, filepath.Join(out, "mdoel"): meant,
		filepath.Join(parent, "nowhere", "at", "all"): "no such file or directory"} {
		if _, err := serve.Load(dir); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("serve.Load(%s): %v does not say %q", dir, err, want)
		}
	}
	if err := fails(t, func() train.Job { return job(train.Options{Load: checkpoint, Checkpoint: checkpoint}) }); err != nil {
		t.Errorf("told where to begin: %v", err)
	}
	if _, err := os.Stat(filepath.Join(checkpoint, "ckpt-000001")); err != nil {
		t.Errorf("and its checkpoints go there: %v", err)
	}
	if err := fails(t, func() train.Job { return job(train.Options{Checkpoint: checkpoint}) }); err != nil {
		t.Errorf("it goes on from them: %v", err)
	}
}

// TestServersRefuseAMisplacedSeries: with servers it is they who look, and say it.
func TestServersRefuseAMisplacedSeries(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	law.Check(t, fails(t, func() train.Job { return job(train.Options{Out: dir}) }))
	fleettest.Run(t, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsWorker() {
			return nil
		}
		j := job(train.Options{Checkpoint: filepath.Join(dir, "model")})
		j.Stdout = io.Discard
		if _, err := j.Run(ctx, f); err == nil || !strings.Contains(err.Error(), "is a saved model itself") {
			t.Errorf("got %v", err)
		}
		return nil
	})
}
