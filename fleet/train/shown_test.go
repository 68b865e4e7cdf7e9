package train_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/observe"
	"github.com/gofleet/gofleet/nn"
)

// shownOf is the training that the status of a worker of this process shows, nil if it shows none.
func shownOf(worker int) *observe.Training {
	is, _ := observe.Trained.Load(worker)
	of, _ := is.(*observe.Training)
	return of
}

// TestRestartsAreShown: a job that was started again twice shows where each time.
func TestRestartsAreShown(t *testing.T) {
	// Serial: it reads what workers of this process show.
	dir := t.TempDir()
	var shown observe.Training
	for epochs := 1; epochs <= 3; epochs++ {
		play(t, 1, 1, func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: epochs, Batch: 40, Checkpoint: dir})
			j.Hooks = []train.Hooks{{End: func(_ context.Context, r *train.Run) error {
				shown = *shownOf(0)
				return nil
			}}}
			return j
		})
	}
	var again []float64
	for _, m := range shown.Marks {
		if m.Kind == "restart" {
			again = append(again, m.At)
		}
	}
	if !slices.Equal(again, []float64{400, 800}) {
		t.Errorf("it was started again at %v", again)
	}
}

// TestTrainingIsShown: while a job trains, each worker's status has its curves so far, with the best evaluation and the epochs' ends, and
// what was shown before is not changed.
func TestTrainingIsShown(t *testing.T) {
	// Serial: it reads what workers of this process show.
	var mu sync.Mutex
	var seen []*observe.Training
	results, _ := play(t, 1, 2, func() train.Job {
		j := job(train.Options{Epochs: 3, Batch: 40})
		j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
			mu.Lock()
			defer mu.Unlock()
			if r.Fleet.WorkerIndex() == 1 {
				seen = append(seen, shownOf(1))
			}
			return nil
		}}}
		return j
	})
	history := results[0].History
	for i, s := range seen {
		panel := "loss" // and behind an evaluation what a constant has
		if s != nil && len(s.Marks) > 0 {
			panel = fmt.Sprintf("loss (always %.4g)", history[len(s.Marks)-1].Values["constant test loss"])
		}
		if s == nil || s.Epochs != 3 || s.Curves[0].Panel != panel || s.Curves[0].Name != "train" || len(s.Curves[0].Points) != i+1 {
			t.Fatalf("behind step %d: %+v", i+1, s)
		}
	}
	last := seen[len(seen)-1] // in the third epoch
	if len(last.Marks) != 2 || last.Marks[1].At != float64(history[1].Examples) || last.Marks[1].Kind != "epoch" {
		t.Errorf("marks %+v, history %+v", last.Marks, history)
	}
	best := min(history[0].Values[train.EvalLoss], history[1].Values[train.EvalLoss])
	if test := last.Curves[1]; test.Name != "test" || len(test.Points) != 2 || float32(test.Best[1]) != float32(best) {
		t.Errorf("%+v, the best is %v", test, best)
	}
}
