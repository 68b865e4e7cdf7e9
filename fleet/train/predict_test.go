package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// xFormat is lines of one number.
var xFormat = dataset.CSV{Fields: []string{"x"}, Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}}}

// numbered writes a file of the numbers below n, with words at some places, and returns it with what its rows are.
func numbered(t *testing.T, n int, words ...int) (file, rows string) {
	t.Helper()
	var text, want strings.Builder
	for i := range n {
		if slices.Contains(words, i) {
			text.WriteString("oops\n")
			continue
		}
		fmt.Fprintln(&text, i)
		fmt.Fprintln(&want, i)
	}
	file = filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, want.String()
}

// started begins a job of the loss on every role, and says whether this one is a worker.
func started(ctx context.Context, f *fleet.Fleet, loss *nn.Node) (worker bool, err error) {
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, strategy.Sync())
	if err == nil {
		err = opt.Minimize(loss)
	}
	switch {
	case err != nil:
		return false, err
	case f.IsWorker():
		return true, f.InitWorker(ctx)
	}
	return false, errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
}

// TestPredictPassesOverBadLines: predictions come in the rows' order, one for each, wherever lines are bad and however many workers there are.
func TestPredictPassesOverBadLines(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, bad := range map[string][]int{"none": nil, "the first": {0}, "the last": {10}, "three": {2, 5, 6}, "a run": {4, 5, 6, 7}} {
		file, want := numbered(t, 11, bad...)
		for _, servers := range []int{0, 1} {
			for workers := 1; workers <= 3; workers++ {
				var got bytes.Buffer
				fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
					x := nn.NewGraph(1).Input("x", 1)
					same := nn.Scale(x, 1, 0).Named("p")
					worker, err := started(ctx, f, nn.Mean(nn.Linear(x, 1, nn.LinearOptions{})))
					if err != nil || !worker {
						return err
					}
					to := io.Writer(io.Discard)
					if f.WorkerIndex() == 0 {
						to = &got
					}
					n, err := train.Predict(ctx, f, dataset.New(&dataset.Files{Paths: []string{file}, Format: xFormat, SkipBad: 5,
						OnBad: func(*dataset.LineError) {}}), to, same)
					if n != 11-len(bad) {
						t.Errorf("%s, %d servers, %d workers: %d rows", name, servers, workers, n)
					}
					return errors.Join(err, f.StopWorker(ctx))
				})
				if got.String() != "p\n"+want {
					t.Errorf("%s, %d servers, %d workers: %q, want %q", name, servers, workers, got.String(), want)
				}
			}
		}
	}
}

// TestPredictOfOtherRows: workers that don't have the same rows are refused, on all of them.
func TestPredictOfOtherRows(t *testing.T) {
	t.Parallel()
	for role, err := range (fleettest.Cluster{Workers: 2}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		x := nn.NewGraph(1).Input("x", 1)
		if _, err := started(ctx, f, nn.Mean(nn.Linear(x, 1, nn.LinearOptions{}))); err != nil {
			return err
		}
		_, err := train.Predict(ctx, f, points(7+4*f.WorkerIndex()), io.Discard, x)
		return errors.Join(err, f.StopWorker(ctx))
	}) {
		if err == nil || !strings.Contains(err.Error(), "give all workers the same") {
			t.Errorf("%s: error %v", role, err)
		}
	}
}

// TestASavedModelPredicts runs the program of Predict's documentation, alone and as collective workers: twice, with an evaluation between.
func TestASavedModelPredicts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, want := numbered(t, 5)
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		x := nn.NewGraph(1).Input("x", 1)
		y := nn.Linear(x, 1, nn.LinearOptions{Init: optimizer.Constant{Value: 1}}).Named("p")
		if _, err := started(ctx, f, nn.Mean(y)); err != nil {
			return err
		}
		return errors.Join(f.SaveInferenceModel(ctx, dir, nn.Inference(y).WithFormat(xFormat)), f.StopWorker(ctx))
	})
	for workers := 1; workers <= 3; workers++ {
		var got bytes.Buffer
		fleettest.Run(t, 0, workers, func(ctx context.Context, f *fleet.Fleet) error {
			m, err := serve.Load(dir)
			if err != nil {
				return err
			}
			rows, err := m.Rows(file)
			if err != nil {
				return err
			}
			to := io.Writer(io.Discard)
			if f.WorkerIndex() == 0 {
				to = &got
			}
			if _, err := train.Predict(ctx, f, rows, to, m.Outputs...); err != nil {
				return err
			}
			values, err := train.Evaluate(ctx, f, rows, nn.Mean(m.Outputs[0]))
			if err != nil || values[0] != 2 {
				t.Errorf("%d workers: the mean is %v, error %v", workers, values, err)
			}
			_, err = train.Predict(ctx, f, rows, to, m.Outputs...)
			return errors.Join(err, f.StopWorker(ctx))
		})
		if got.String() != "p\n"+want+"p\n"+want {
			t.Errorf("%d workers: %q", workers, got.String())
		}
	}
	for role, err := range (fleettest.Cluster{Servers: 1, Workers: 1}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		if f.IsServer() {
			return nil
		}
		m, err := serve.Load(dir)
		if err != nil {
			return err
		}
		_, err = train.Predict(ctx, f, points(3), io.Discard, m.Outputs...)
		return err
	}) {
		if want := "without servers"; strings.Contains(role, "worker") && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", role, err, want)
		}
	}
}
