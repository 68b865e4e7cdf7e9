package train_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// signs is a model of points whose label is 1 above 0.
type signs struct{ pred, loss, auc *nn.Node }

func newSigns(norm ...bool) signs {
	g := nn.NewGraph(1)
	label, x := g.Input("y", 1), g.Input("x", 1)
	if len(norm) > 0 && norm[0] {
		x = nn.BatchNorm(x, nn.NormOptions{})
	}
	pred := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid})
	// The AUC that programs take has 65,536 buckets, which would be most of the work of jobs that evaluate 20 rows hundreds of times.
	return signs{pred, nn.Mean(nn.LogLoss(pred, label)), nn.AUCOf(pred, label, 1023).Named("AUC")}
}

// points are so many of them.
func points(n int) *dataset.Dataset {
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(i%20)/10 - 0.95
		if x[i] > 0 {
			y[i] = 1
		}
	}
	return dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1))
}

// job trains on 400 points and tests on 100.
func job(o train.Options) train.Job {
	o.Batch, o.Epochs = cmp.Or(o.Batch, 512), cmp.Or(o.Epochs, 1)
	net := newSigns()
	return train.Job{Options: o, Loss: net.loss, Rule: optimizer.SGD{LR: 0.5}, Metrics: []*nn.Node{net.auc}, Outputs: []*nn.Node{net.pred},
		Data: data(400, 100)}
}

// data gives so many points to train on, and to test on; none are no test rows.
func data(n, tests int) func(context.Context) (rows, test *dataset.Dataset, err error) {
	return func(context.Context) (rows, test *dataset.Dataset, err error) {
		if tests > 0 {
			test = points(tests)
		}
		return points(n), test, nil
	}
}

// fails is the error of a job on one process.
func fails(t *testing.T, make func() train.Job) (err error) {
	t.Helper()
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		j := make()
		j.Stdout = io.Discard
		_, err = j.Run(ctx, f)
		return nil
	})
	return err
}

// logLoss is a loaded model's on the test points.
func logLoss(t *testing.T, m *serve.Model) float64 {
	t.Helper()
	exe, sum, n := nn.NewExecutor(m.Graph), 0.0, 0
	for batch, err := range points(100).Batches(100) {
		law.Check(t, err)
		labels := slices.Clone(batch["y"].Float32s())
		delete(batch, "y")
		out, err := exe.Eval(t.Context(), batch, m.Outputs...)
		law.Check(t, err)
		for i, p := range out[0].Float32s() {
			if labels[i] == 0 {
				p = 1 - p
			}
			sum -= math.Log(float64(p) + 1e-4)
			n++
		}
	}
	return sum / float64(n)
}

// play runs a job on a cluster and gives what workers came to and what the first one printed. Each role gets its job by make.
func play(t *testing.T, servers, workers int, make func() train.Job) (results []train.Result, said string) {
	t.Helper()
	results = append(results, slicesOf(workers)...)
	var mu sync.Mutex
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		var out bytes.Buffer
		j := make()
		j.Stdout = &out
		res, err := j.Run(ctx, f)
		mu.Lock()
		defer mu.Unlock()
		if f.IsWorker() {
			results[f.WorkerIndex()] = res
		}
		if f.IsWorker() && f.IsFirstWorker() {
			said = out.String()
		}
		return err
	})
	return results, said
}

func slicesOf(n int) []train.Result { return make([]train.Result, n) }

// TestAWholeJob: every kind of job trains, evaluates in the middle and at the end of epochs with equal numbers on all workers, and leaves a
// checkpoint, a model and its history.
func TestAWholeJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type size struct{ servers, workers int }
	for _, c := range []size{{0, 1}, {2, 2}, {0, 3}, {1, 3}} {
		modes := strategy.Modes()
		if c.servers == 0 {
			modes = []strategy.Mode{""}
		}
		for _, mode := range modes {
			t.Run(string(mode), func(t *testing.T) {
				dir := t.TempDir()
				results, said := play(t, c.servers, c.workers, func() train.Job {
					return job(train.Options{Mode: string(mode), Epochs: 2, Batch: 16, EvalEvery: 4, Out: dir})
				})
				first := results[0]
				if n := len(first.History); n < 4 || first.Last.Epoch != 2 || !first.Last.End || first.Last.Examples != 800 {
					t.Errorf("%d evaluations, the last %+v", n, first.Last)
				}
				for i, res := range results {
					for j, e := range res.History {
						if want := first.History[j]; e.Examples != want.Examples || e.Values["test AUC"] != want.Values["test AUC"] || e.Values[train.TrainLoss] != want.Values[train.TrainLoss] {
							t.Errorf("worker %d has %+v, worker 0 %+v", i, e, want)
						}
					}
				}
				if auc, loss := first.Last.Values["test AUC"], first.Last.Values[train.EvalLoss]; auc < 0.999 || !(loss < 0.5) || loss > first.History[0].Values[train.EvalLoss] {
					t.Errorf("AUC %v, loss %v; history %+v", auc, loss, first.History)
				}
				if !strings.Contains(said, "epoch 2/2: train loss 0.") || !strings.Contains(said, ", test AUC 1.0000") || !strings.Contains(said, "saved "+dir) {
					t.Errorf("worker 0 said\n%s", said)
				}
				for _, file := range []string{"checkpoint/manifest.json", "model/graph.json"} {
					if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
						t.Error(err)
					}
				}
				text, err := os.ReadFile(filepath.Join(dir, "history.csv"))
				if lines := strings.Count(string(text), "\n"); err != nil || lines != len(first.History)+1 || !strings.HasPrefix(string(text), "epoch,examples,train loss,test loss,test AUC,constant test loss,constant test AUC,constant standard error,train AUC,seconds,examples/s,learning rate,gradient norm\n1,") {
					t.Errorf("history.csv: error %v\n%s", err, text)
				}
			})
		}
	}
}
