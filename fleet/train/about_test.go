package train_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/runs"
	"github.com/gofleet/gofleet/nn"
)

// TestRunJSONIsOfItsHistory: a job in the directory of an earlier one that ends before its first evaluation leaves run.json as it is, which is of
// the history beside it.
func TestRunJSONIsOfItsHistory(t *testing.T) {
	t.Parallel()
	dir, enough := t.TempDir(), errors.New("enough")
	flags := func() map[string]string {
		r, err := runs.Read(dir)
		law.Check(t, err)
		return r.About.Flags
	}
	play(t, 0, 1, func() train.Job { return job(train.Options{Batch: 50, Out: dir}) })
	err := fails(t, func() train.Job {
		j := job(train.Options{Batch: 25, Out: dir})
		j.Hooks = []train.Hooks{{Step: func(context.Context, *train.Run, nn.TrainResult) error { return enough }}}
		return j
	})
	if batch := flags()["batch"]; !errors.Is(err, enough) || batch != "50" {
		t.Errorf("-batch=%s, with the history of -batch=50 (%v)", batch, err)
	}
	play(t, 0, 1, func() train.Job { return job(train.Options{Batch: 25, Out: dir}) })
	if batch := flags()["batch"]; batch != "25" {
		t.Errorf("-batch=%s, with the history of -batch=25", batch)
	}
}

// TestRunJSON: a job says of itself which flags it has, how many processes, and which of its metrics fall.
func TestRunJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	play(t, 1, 2, func() train.Job {
		j := job(train.Options{Mode: "sync", Batch: 50, Out: dir})
		j.Metrics = append(j.Metrics, nn.MAE(j.Outputs[0], j.Loss.Graph().Node("y")).Named("distance"))
		return j
	})
	r, err := runs.Read(dir)
	law.Check(t, err)
	a := r.About
	if a.Servers != 1 || a.Workers != 2 || a.Flags["mode"] != "sync" || a.Flags["batch"] != "50" || a.Flags["lr"] != "0" || a.Program == "" {
		t.Errorf("it says %+v", a)
	}
	if !slices.Equal(a.Falling, []string{"train loss", "test loss", "test distance", "train distance"}) || len(r.Rows) != 1 {
		t.Errorf("falling are %q, %d rows", a.Falling, len(r.Rows))
	}
	for name, secret := range map[string]bool{"api_token": true, "db-password": true, "lr": false, "passes": false, "keys": false, "PASSES_OVER": false, "passwords": true, "dbPassword": true, "apikey": true, "pass": true,
		"PGPASSWORD": true, "tokens_per_step": false, "credentials": true, "hot-keys": false, "AWS_SECRET_ACCESS_KEY": true, "k_steps": false} {
		if runs.Secret(name) != secret {
			t.Errorf("%s: secret %t", name, !secret)
		}
	}
}
