package train_test

import (
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/optimizer"
)

// TestMetricsOfTraining: an evaluation has the metrics of the examples that all workers have trained on, in every way of training, also in
// the middle of an epoch: where weights stay as they are, those of the rows.
func TestMetricsOfTraining(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, c := range []struct {
		servers, workers, threads, every int
		mode                             string
	}{
		{0, 1, 1, 0, ""}, {0, 1, 3, 2, ""}, {0, 3, 1, 4, ""}, {2, 2, 1, 3, "sync"}, {1, 2, 2, 3, "async"}, {1, 2, 1, 0, "geo"},
		{1, 3, 2, 0, "half_async"}, {1, 2, 1, 0, "ssp"},
	} {
		results, _ := play(t, c.servers, c.workers, func() train.Job {
			j := job(train.Options{Mode: c.mode, Epochs: 2, Batch: 20, Threads: c.threads, EvalEvery: c.every})
			j.Rule = optimizer.SGD{LR: 1e-30}
			return j
		})
		for w, r := range results {
			for _, e := range r.History {
				if got, want := e.Values["train AUC"], e.Values["test AUC"]; got != want && e.End || !(got > 0) {
					t.Errorf("%+v: worker %d has %v at %d examples, want %v", c, w, got, e.Examples, want)
				}
			}
		}
	}
}
