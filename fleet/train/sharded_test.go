package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/strategy"
)

// own are so many points, whose x begin at a number.
func own(first, n int) *dataset.Dataset {
	x, y := make([]float32, n), make([]float32, n)
	for i := range x {
		x[i], y[i] = float32(first+i), float32(i%2)
	}
	return dataset.FromColumns(dataset.FloatValues("x", x, 1), dataset.FloatValues("y", y, 1))
}

// tally counts how often each x was trained on.
type tally struct {
	sync.Mutex
	of map[float32]int
}

// hook counts the rows of each step.
func (c *tally) hook(x *nn.Node) train.Hooks {
	return train.Hooks{Step: func(_ context.Context, _ *train.Run, so nn.TrainResult) error {
		c.Lock()
		defer c.Unlock()
		for _, v := range so.Last()[0].Float32s() {
			c.of[v]++
		}
		return nil
	}}
}

// kindsOfJobs calls f for every mode with servers, and for workers without.
func kindsOfJobs(t *testing.T, f func(mode string, servers int)) {
	for _, mode := range trial.Some(t, append(strategy.Modes(), "")) {
		if mode == "" {
			f("", 0)
		} else {
			f(string(mode), 2)
		}
	}
}

// TestEachWorkerHasItsOwnRows: with Sharded each row is trained on once an epoch, by the worker that has it, and each test row is
// evaluated, however uneven the shares are, with evaluations in the middle of epochs, other rows in each epoch, and where the job goes on
// in the middle of one.
func TestEachWorkerHasItsOwnRows(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const epochs = 3
	shares := []int{30, 9, 13}
	kindsOfJobs(t, func(mode string, servers int) {
		for _, stop := range []bool{false, true} {
			for _, chosen := range []bool{false, true} {
				name := fmt.Sprintf("%q, %d servers, stopped %v, rows of one's own %v", mode, servers, stop, chosen)
				seen, dir, enough := tally{of: map[float32]int{}}, t.TempDir(), errors.New("enough")
				play := func(hooks ...train.Hooks) (examples int) {
					fleettest.Cluster{Servers: servers, Workers: len(shares)}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
						j := job(train.Options{Mode: mode, Epochs: epochs, Batch: 4, EvalEvery: 2, Checkpoint: dir})
						x := j.Loss.Graph().Node("x")
						j.Sharded, j.Stdout, j.Show = true, io.Discard, []*nn.Node{x}
						j.Hooks = append([]train.Hooks{seen.hook(x)}, hooks...)
						w := f.WorkerIndex()
						j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) {
							return own(1000*w, shares[w]), own(1000*w, 3), nil
						}
						if chosen {
							j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
								return rows.Shuffle(uint64(epoch) + 5)
							}
						}
						res, err := j.Run(ctx, f)
						if f.IsWorker() {
							examples = res.Last.Examples
						}
						if len(hooks) > 0 {
							return nil // the workers have had enough, and servers miss them
						}
						return err
					})
					return examples
				}
				if stop {
					play(train.Hooks{Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
						if r.Epoch == 0 || so.Steps < 1 {
							return nil
						}
						return errors.Join(r.Fleet.BarrierWorker(ctx), r.Fleet.Checkpoint(ctx), r.Fleet.BarrierWorker(ctx), enough)
					}})
				}
				examples, all := play(), 0
				for w, n := range shares {
					for i := range n {
						if got := seen.of[float32(1000*w+i)]; got != epochs {
							t.Errorf("%s: row %d of worker %d was trained on %d times", name, i, w, got)
						}
					}
					all += n
				}
				if len(seen.of) != all || examples != all*epochs {
					t.Errorf("%s: %d rows of %d, %d examples in the history", name, len(seen.of), all, examples)
				}
			}
		}
	})
}

// TestServersEndWithARefusedJob: servers of a job that all workers refuse, since they are more than the rows or have different rows, end with
// them in every mode, and do not wait for workers that might be started again.
func TestServersEndWithARefusedJob(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sync", "async", "half_async", "geo"} {
		for _, rows := range [][2]int{{1, 1}, {60, 40}} {
			t.Run(fmt.Sprint(mode, rows), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					errs := trial.Cluster(2, 2).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						j := job(train.Options{Mode: mode, Epochs: 2, Batch: 16})
						j.Stdout, j.Data = io.Discard, data(rows[max(0, f.WorkerIndex())], 5)
						_, err := j.Run(ctx, f)
						return err
					})
					for role, err := range errs {
						if strings.HasPrefix(role, "server") != (err == nil) || err != nil && !strings.Contains(err.Error(), "rows") {
							t.Errorf("%s: %v", role, err)
						}
					}
					if took := time.Since(began); took > 5*time.Second {
						t.Errorf("the job takes %v to end", took)
					}
				})
			})
		}
	}
}

// TestDifferentRowsAreRefused: workers that have different rows end when the job begins, all of them, and say which has what.
//
// Promise: [G9] workers with different rows are refused, all of them, unless each has its own (Job.Sharded): then
// each row counts once an epoch, in every kind of job, also of one that goes on
// Also: TestEachWorkerHasItsOwnRows
func TestDifferentRowsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   func(worker int) (rows, test *dataset.Dataset)
		want string
	}{
		"fewer": {func(w int) (_, _ *dataset.Dataset) { return own(0, 40-20*w), nil }, "different rows to train on (worker 0 has 40, worker 1 has 20)"},
		"others": {func(w int) (_, _ *dataset.Dataset) { return own(9*w, 40), nil },
			"different rows to train on (worker 0 has 40, worker 1 has 40 others)"},
		"in another order": {func(w int) (_, _ *dataset.Dataset) { return own(0, 40).Shuffle(uint64(w)), nil }, "worker 1 has 40 others"},
		"test rows":        {func(w int) (_, _ *dataset.Dataset) { return own(0, 40), own(w, 10) }, "different test rows (worker 0 has 10, worker 1 has 10 others)"},
		"no test rows": {func(w int) (_, test *dataset.Dataset) {
			if w == 0 {
				test = own(0, 4)
			}
			return own(0, 40), test
		}, "different test rows (worker 0 has 4, worker 1 has 0)"},
	} {
		kindsOfJobs(t, func(mode string, servers int) {
			fleettest.Cluster{Servers: servers, Workers: 2}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				j := job(train.Options{Mode: mode})
				j.Stdout = io.Discard
				j.Data = func(context.Context) (rows, test *dataset.Dataset, err error) {
					rows, test = c.of(f.WorkerIndex())
					return rows, test, nil
				}
				_, err := j.Run(ctx, f)
				if f.IsWorker() && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Job.Sharded")) {
					t.Errorf("%s, mode %q, worker %d: error %v, want %q", name, mode, f.WorkerIndex(), err, c.want)
				}
				return nil
			})
		})
	}
}

// TestOthersRowsAreRefused: workers that evaluate or predict with different rows all end, and say who has what.
func TestOthersRowsAreRefused(t *testing.T) {
	t.Parallel()
	kindsOfJobs(t, func(mode string, servers int) {
		for what, c := range map[string]struct {
			rows func(worker int) *dataset.Dataset
			want string
		}{
			"fewer":  {func(w int) *dataset.Dataset { return own(0, 40-w) }, "(worker 0 has 40, worker 1 has 39)"},
			"others": {func(w int) *dataset.Dataset { return own(w, 40) }, "(worker 0 has 40, worker 1 has 40 others)"},
		} {
			for _, call := range []string{"Evaluate", "Predict"} {
				fleettest.Cluster{Servers: servers, Workers: 2}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
					j := job(train.Options{Mode: mode})
					j.Stdout = io.Discard
					j.Hooks = []train.Hooks{{End: func(ctx context.Context, r *train.Run) (err error) {
						if rows := c.rows(f.WorkerIndex()); call == "Evaluate" {
							_, err = train.Evaluate(ctx, f, rows, j.Loss)
						} else {
							_, err = train.Predict(ctx, f, rows, io.Discard, j.Outputs...)
						}
						return err
					}}}
					_, err := j.Run(ctx, f)
					if f.IsWorker() && (err == nil || !strings.Contains(err.Error(), call+": workers have different rows "+c.want)) {
						t.Errorf("%s, %q, %s rows, worker %d: %v", call, mode, what, f.WorkerIndex(), err)
					}
					return nil // a server is told that workers have ended early
				})
			}
		}
	})
}

// TestAWorkerThatDescribesNoRows: an evaluation with a worker that sends something else first says so.
func TestAWorkerThatDescribesNoRows(t *testing.T) {
	t.Parallel()
	fleettest.Cluster{Workers: 2}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		j := job(train.Options{})
		j.Stdout = io.Discard
		j.Hooks = []train.Hooks{{End: func(ctx context.Context, r *train.Run) error {
			if f.WorkerIndex() == 1 {
				_, err := f.AllGatherBytes(ctx, []byte("\xd7"))
				return err
			}
			_, err := train.Evaluate(ctx, f, own(0, 40), j.Loss)
			if err == nil || !strings.Contains(err.Error(), "worker 1 does not describe its rows") {
				t.Error(err)
			}
			return nil
		}}}
		_, err := j.Run(ctx, f)
		return err
	})
}

// TestRowsThatAreDrawn: rows that are made another way each time, or stream by, are compared by their number alone, if that is known.
func TestRowsThatAreDrawn(t *testing.T) {
	t.Parallel()
	var drawn float32
	var mu sync.Mutex
	noise := func(_, to dataset.Row) error {
		mu.Lock()
		defer mu.Unlock()
		drawn++
		to.Floats(0)[0] = drawn
		return nil
	}
	results, _ := play(t, 0, 2, func() train.Job {
		j := job(train.Options{Batch: 10})
		j.Data = given(points(40).MapRows(noise, dataset.Floats("x"), dataset.Floats("y")), nil)
		return j
	})
	if got := results[0].Last.Examples; got != 40 {
		t.Errorf("%d examples", got)
	}
}

// TestShardedTwice: that workers with rows of their own have the same is logged once.
func TestShardedTwice(t *testing.T) {
	// Serial: it takes over the process's log.
	var log bytes.Buffer
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	defer slog.SetDefault(old)
	play(t, 0, 2, func() train.Job {
		j := job(train.Options{Batch: 10})
		j.Sharded = true
		return j
	})
	if n := strings.Count(log.String(), "every worker trains on each of them"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}

// TestFormatsOfWorkers: that workers scale rows of their own each in its way is logged once.
func TestFormatsOfWorkers(t *testing.T) {
	// Serial: it takes over the process's log.
	dir := t.TempDir()
	for _, apart := range []float64{0, 1} {
		said := logged(t, func() {
			fleettest.Run(t, 0, 3, func(ctx context.Context, f *fleet.Fleet) error {
				w := f.WorkerIndex()
				file := filepath.Join(dir, fmt.Sprintf("p%d.csv", w))
				if err := os.WriteFile(file, fmt.Appendf(nil, "x,y\n%d,0\n%d,1\n", w, w+7), 0o600); err != nil {
					return err
				}
				x := dataset.CSVColumn{Column: dataset.Floats("x"), Scale: []dataset.Scaling{{Mean: apart * float64(w), Std: 2}}}
				j := job(train.Options{Batch: 1})
				j.Stdout, j.Sharded, j.Data = io.Discard, true, nil
				j.Files = train.Files{Paths: []string{file}, HeldOut: -1,
					Format: dataset.CSV{Schema: []dataset.CSVColumn{x, {Column: dataset.Floats("y")}}}}
				_, err := j.Run(ctx, f)
				return err
			})
		})
		if n := strings.Count(said, "workers read their rows by different formats"); n != int(apart) {
			t.Errorf("scaled apart by %v: %d warnings: %s", apart, n, said)
		}
	}
}

// TestFilesOfWorkers: files of each worker's own, as a program names them by its number, are refused, or trained on as a whole.
func TestFilesOfWorkers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for w := range 2 {
		text := strings.Builder{}
		for i := range 50 {
			fmt.Fprintf(&text, "%d,%d\n", 100*w+i, i%2)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("p%d.csv", w)), []byte("x,y\n"+text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, sharded := range []bool{false, true} {
		var examples int
		errs := fleettest.Cluster{Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Batch: 10})
			j.Stdout, j.Sharded, j.Data = io.Discard, sharded, nil
			j.Files = train.Files{Paths: []string{filepath.Join(dir, fmt.Sprintf("p%d.csv", f.WorkerIndex()))}, HeldOut: -1,
				Format: dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}}}}
			res, err := j.Run(ctx, f)
			if f.WorkerIndex() == 0 {
				examples = res.Last.Examples
			}
			return err
		})
		if err := errs["worker 0"]; sharded != (err == nil) || sharded != (examples == 100) {
			t.Errorf("sharded %v: %d examples, errors %v", sharded, examples, errs)
		}
	}
}
