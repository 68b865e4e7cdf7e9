package train_test

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
	"github.com/gofleet/gofleet/strategy"
)

// TestHooksOutliveAWorker: whichever worker dies, the rate goes on falling, the best model is saved, and the history is written.
//
// Promise: [G6] whichever worker dies, the rate goes on falling, and the best model and the history are written
func TestHooksOutliveAWorker(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		for dies := range 2 {
			s, err := strategy.Named(string(mode))
			if err != nil {
				t.Fatal(err)
			}
			dir, tired := t.TempDir(), errors.New("tired")
			var mu sync.Mutex
			factor, history := 0.0, 0
			fleettest.Cluster{Servers: 2, Workers: 3}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Epochs: 6, Batch: 20, EvalEvery: 3, Out: filepath.Join(dir, "out")})
				j.Stdout, j.Strategy, j.Rule = io.Discard, &s, optimizer.SGD{LR: 1e-9}
				j.Hooks = []train.Hooks{
					train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 1e-9, Patience: 2, Factor: 0.5, Epsilon: 1e-30}}.Hooks(),
					train.BestModel{Dir: filepath.Join(dir, "best")}.Hooks(),
					{
						Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
							if r.Fleet.WorkerIndex() == dies && r.Epoch == 1 && so.Steps == 4 {
								return tired
							}
							return nil
						},
						End: func(ctx context.Context, r *train.Run) error {
							now, err := r.Fleet.RateFactor(ctx)
							mu.Lock()
							defer mu.Unlock()
							factor, history = now, len(r.History)
							return err
						},
					}}
				_, err := j.Run(ctx, f)
				if errors.Is(err, tired) || errors.Is(err, train.ErrShort) || f.IsServer() {
					return nil
				}
				return err
			})
			falls := (history - 1) / 3
			if want := math.Pow(0.5, float64(falls)); falls < 4 || math.Abs(factor-want) > 1e-9 {
				t.Errorf("%s, worker %d dies: the factor is %v after %d evaluations, want %v", mode, dies, factor, history, want)
			}
			for _, file := range []string{"best/graph.json", "out/model/graph.json", "out/history.csv"} {
				if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestRateThatADeadWorkerWasToSet: the worker that sets the rate for all dies in the hooks of the evaluation by which it falls, which may be
// the last: whoever leads after it sets the rate.
func TestRateThatADeadWorkerWasToSet(t *testing.T) {
	t.Parallel()
	for _, epochs := range []int{4, 5} {
		tired, factor := errors.New("tired"), 0.0
		fleettest.Cluster{Servers: 1, Workers: 2}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: "async", Epochs: epochs, Batch: 20})
			j.Stdout, j.Rule = io.Discard, optimizer.SGD{LR: 1e-9}
			j.Hooks = []train.Hooks{{Evaluated: func(_ context.Context, r *train.Run, _ train.Evaluation) error {
				if r.Fleet.IsFirstWorker() && len(r.History) == 4 {
					return tired
				}
				return nil
			}}, train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 1e-9, Patience: 2, Factor: 0.5, Epsilon: 1e-30}}.Hooks(), {
				End: func(ctx context.Context, r *train.Run) (err error) {
					factor, err = r.Fleet.RateFactor(ctx)
					return err
				},
			}}
			_, err := j.Run(ctx, f)
			if errors.Is(err, tired) || errors.Is(err, train.ErrShort) || f.IsServer() {
				return nil
			}
			return err
		})
		if math.Abs(factor-0.5) > 1e-9 {
			t.Errorf("%d epochs: the factor is %v, want 0.5", epochs, factor)
		}
	}
}

// TestAWorkerLeadsWithoutADirectory: a job whose worker 0 died before it had made the output directory leaves its results there.
func TestAWorkerLeadsWithoutADirectory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		out, torn := filepath.Join(t.TempDir(), "a", "out"), errors.New("the tape is torn")
		errs := fleettest.Cluster{Servers: 1, Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: "async", Out: out})
			j.Stdout = io.Discard
			if f.IsFirstWorker() {
				j.Data = func(context.Context) (rows, test *dataset.Dataset, err error) { return nil, nil, torn }
			}
			_, err := j.Run(ctx, f)
			return err
		})
		if !errors.Is(errs["worker 0"], torn) || !errors.Is(errs["worker 1"], train.ErrShort) {
			t.Error(errs)
		}
		for _, name := range []string{"run.json", "history.csv", "model/model.json", "checkpoint/manifest.json"} {
			if _, err := os.Stat(filepath.Join(out, name)); err != nil {
				t.Error(err)
			}
		}
	})
}
