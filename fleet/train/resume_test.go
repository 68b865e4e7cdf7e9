package train_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/checkpoints"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAJobGoesOn: a job that ends in the middle of an epoch and is started again has the history, to the last bit, of one that was not
// disturbed; hooks that look back at it decide alike, and the program's own bytes are there.
//
// Promise: [G6] a job that goes on has the history and picture of an undisturbed one, but for the train loss of an
// epoch that it resumed in the middle: that is of the rows since
// Also: TestCurvesGoOn
func TestAJobGoesOn(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 1}, {2, 2}, {0, 2}} {
		make := func(dir string, h ...train.Hooks) func() train.Job {
			return func() train.Job {
				j := job(train.Options{Mode: "sync", Epochs: 9, Batch: 16, EvalEvery: 5, Checkpoint: dir})
				j.Hooks = append([]train.Hooks{train.EarlyStopping{Patience: 2, Least: 0.02}.Hooks()}, h...)
				return j
			}
		}
		whole, _ := play(t, size[0], size[1], make(t.TempDir()))
		dir, enough := t.TempDir(), errors.New("enough")
		interrupted := func(h train.Hooks) {
			h.Begin = func(_ context.Context, r *train.Run) error { r.User = []byte("mine"); return nil }
			errs := fleettest.Cluster{Servers: size[0], Workers: size[1]}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				j := make(dir, h)()
				j.Stdout = io.Discard
				_, err := j.Run(ctx, f)
				return err
			})
			if !slices.ContainsFunc(slices.Collect(maps.Values(errs)), func(err error) bool { return errors.Is(err, enough) }) {
				t.Fatalf("the job ends with %v", errs)
			}
		}
		interrupted(train.Hooks{Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
			if r.Epoch == 1 && so.Steps == 7 {
				return enough
			}
			return nil
		}})
		interrupted(train.Hooks{EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error { // evaluated, and not yet in the next
			if r.Epoch != 1 {
				return nil
			}
			if r.Leads() {
				if err := r.Fleet.Checkpoint(ctx); err != nil {
					return err
				}
			}
			return errors.Join(r.Fleet.BarrierWorker(ctx), enough)
		}})
		var mine []byte
		twice := map[int]bool{} // epochs whose end may come twice, as the hook is told
		again, said := play(t, size[0], size[1], make(dir, train.Hooks{Begin: func(_ context.Context, r *train.Run) error {
			if r.Fleet.WorkerIndex() == 0 {
				mine = r.User
			}
			return nil
		}, EpochEnd: func(_ context.Context, r *train.Run, _ nn.TrainResult) error {
			if r.Leads() {
				twice[r.Epoch] = r.Again
			}
			return nil
		}}))
		if next, is := twice[2]; !twice[1] || next || !is {
			t.Errorf("%v: the ends of epochs that may come twice are %v, want epoch 1 alone", size, twice)
		}
		if diff := cmp.Diff(whole[0].History, again[0].History); diff != "" || whole[0].Stopped != again[0].Stopped || whole[0].Stopped == "" {
			t.Errorf("%v: stopped %q and %q\n%s", size, whole[0].Stopped, again[0].Stopped, diff)
		}
		if string(mine) != "mine" || !strings.Contains(said, "worker 0 goes on after epoch 2/9 and 0 examples") {
			t.Errorf("%v: the program's bytes are %q; worker 0 said\n%s", size, mine, said)
		}
		over, _ := play(t, size[0], size[1], make(dir))
		if diff := cmp.Diff(whole[0].History, over[0].History); diff != "" || over[0].Stopped != whole[0].Stopped {
			t.Errorf("%v: a job that is over trains again, stopped %q:\n%s", size, over[0].Stopped, diff)
		}
	}
}

// TestAnEvaluationIsMadeOnce: a job that goes on from a checkpoint behind an evaluation and before the next step does not make that one again.
func TestAnEvaluationIsMadeOnce(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.Recovery.Every = strategy.Duration(10 * time.Second)
	make := func(dir string, h ...train.Hooks) train.Job {
		j := job(train.Options{Epochs: 2, Batch: 16, EvalEvery: 3})
		s := s
		s.Recovery.Dir = dir
		j.Strategy, j.Data, j.Hooks, j.Stdout = &s, data(250, 40), h, io.Discard
		return j
	}
	places := func(all []train.Evaluation) (at [][2]int) {
		for _, e := range all {
			at = append(at, [2]int{e.Epoch, e.Examples})
		}
		return at
	}
	undisturbed := t.TempDir()
	whole, _ := play(t, 1, 2, func() train.Job { return make(undisturbed) })
	for behind := 3; behind <= 6; behind += 3 { // steps of the second epoch
		dir, enough := t.TempDir(), errors.New("enough")
		synctest.Test(t, func(t *testing.T) {
			h := train.Hooks{Evaluated: func(_ context.Context, r *train.Run, _ train.Evaluation) error {
				if !r.Leads() { // a checkpoint is due when the worker that leads has recorded the evaluation, and waits
					time.Sleep(11 * time.Second)
				}
				return nil
			}, Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
				if r.Epoch == 1 && so.Steps == behind+2 {
					return enough
				}
				return nil
			}}
			c := fleettest.Cluster{Servers: 1, Workers: 2, Options: fleet.Options{Transport: transport.NewMemory()}}
			errs := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				_, err := make(dir, h).Run(ctx, f)
				return err
			})
			if !errors.Is(errs["worker 0"], enough) {
				t.Fatalf("the job ends with %v", errs)
			}
		})
		if c, err := checkpoints.Latest(dir); err != nil || c.Positions[1] != (fleet.Position{Epoch: 1, Samples: behind * 16}) {
			t.Fatalf("the last checkpoint is %+v, %v", c, err)
		}
		again, _ := play(t, 1, 2, func() train.Job { return make(dir) })
		if diff := cmp.Diff(places(whole[0].History), places(again[0].History)); diff != "" {
			t.Errorf("behind %d steps:\n%s", behind, diff)
		}
	}
}

// TestTheLoopIsTheOneByHand: the calls of package fleet, written out, come to the same weights.
func TestTheLoopIsTheOneByHand(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	results, _ := play(t, 2, 2, func() train.Job {
		j := job(train.Options{Seed: 3, Epochs: 2, Batch: 16})
		j.Strategy = &s
		return j
	})
	var mu sync.Mutex
	byHand := map[int][]float64{}
	fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
		net := newSigns()
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.5}, s)
		if err != nil {
			return err
		}
		if err := opt.Minimize(net.loss); err != nil {
			return err
		}
		if f.IsServer() {
			return errors.Join(f.InitServer(ctx, ""), f.RunServer(ctx))
		}
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		exe := nn.NewExecutor(net.loss.Graph())
		for epoch := range 2 {
			rows := points(400).Shuffle(3).Epoch(epoch).Shard(f.WorkerIndex(), f.WorkerNum())
			if _, err := exe.TrainFrom(ctx, rows.Batches(16), nn.TrainOptions{}); err != nil {
				return err
			}
			if err := f.BarrierWorker(ctx); err != nil {
				return err
			}
		}
		values, err := train.Evaluate(ctx, f, points(100), net.loss, net.auc)
		mu.Lock()
		byHand[f.WorkerIndex()] = values
		mu.Unlock()
		return errors.Join(err, exe.Close(ctx), f.StopWorker(ctx))
	})
	want := []float64{results[0].Last.Values[train.EvalLoss], results[0].Last.Values["test AUC"]}
	for w, got := range byHand {
		if !slices.Equal(got, want) {
			t.Errorf("worker %d comes to %v by hand, %v with the loop", w, got, want)
		}
	}
}

// TestGoesOnFromACheckpoint: what a cluster has saved, another of any size goes on from, as do workers without servers and a process alone.
func TestGoesOnFromACheckpoint(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir := t.TempDir()
	first, _ := play(t, 2, 2, func() train.Job { return job(train.Options{Mode: "sync", Epochs: 3, Out: dir}) })
	want := first[0].Last.Values[train.EvalLoss]
	for _, from := range []string{"/checkpoint", "/model"} {
		for _, size := range [][2]int{{0, 1}, {1, 1}, {3, 2}, {0, 2}} {
			on, _ := play(t, size[0], size[1], func() train.Job {
				j := job(train.Options{Mode: "sync", Load: dir + from})
				j.Rule = optimizer.SGD{LR: 1e-9}
				return j
			})
			if got := on[0].Last.Values[train.EvalLoss]; math.Abs(got-want) > 1e-6 {
				t.Errorf("%v go on from %s with a loss of %v, want %v", size, from, got, want)
			}
		}
	}
}

// TestAnotherRule: a job can't go on from its checkpoint under another rule, and is told how it can begin from the model; of -load that is
// passed over it says so.
func TestAnotherRule(t *testing.T) {
	t.Parallel()
	out, checkpoints, other := t.TempDir(), t.TempDir(), t.TempDir()
	from := func(load, checkpoint string) func() train.Job {
		return func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 2, Load: load, Checkpoint: checkpoint})
			j.Rule = optimizer.Adam{LR: 1e-3}
			return j
		}
	}
	play(t, 0, 1, func() train.Job { return job(train.Options{Mode: "sync", Out: out, Checkpoint: checkpoints}) })
	if err := fails(t, from("", checkpoints)); err == nil || !strings.Contains(err.Error(), "(-load, with another -checkpoint)") {
		t.Errorf("from its checkpoint: %v", err)
	}
	if _, said := play(t, 0, 1, from(out+"/model", other)); strings.Contains(said, "passed over") {
		t.Errorf("from the model: %s", said)
	}
	if _, said := play(t, 0, 1, from(out+"/model", other)); !strings.Contains(said, "-load="+out+"/model is passed over") || !strings.Contains(said, other) {
		t.Errorf("again: %s", said)
	}
}

// TestNaNRows: rows that are no numbers are told with the feed, in words that name no inner part.
func TestNaNRows(t *testing.T) {
	t.Parallel()
	err := fails(t, func() train.Job {
		j := job(train.Options{Mode: "sync", Batch: 10})
		j.Data = given(points(40).MapFloats("x", func(float32) float32 { return float32(math.NaN()) }), nil)
		return j
	})
	if err == nil || !strings.Contains(err.Error(), `"x"`) || strings.Contains(err.Error(), "solo:") {
		t.Errorf("the error is %v", err)
	}
}

// TestThreads share a worker's rows, and learn what one does.
func TestThreads(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range [][2]int{{0, 1}, {2, 2}} {
		results, _ := play(t, size[0], size[1], func() train.Job {
			return job(train.Options{Mode: "async", Epochs: 3, Batch: 8, Threads: 3, EvalEvery: 7})
		})
		for i, res := range results {
			if want := 400 / size[1]; res.Epoch.Samples != want || res.Last.Examples != 1200 || len(res.History) < 5 || res.Last.Values["test AUC"] < 0.999 {
				t.Errorf("%v, worker %d: %d examples, want %d; history %+v", size, i, res.Epoch.Samples, want, res.History)
			}
		}
	}
}

// TestEvaluateIsOfAllWorkers: metrics and means are those of one process with all rows, and every worker has them; those of scores by
// group, and of scores that share a bucket, are so bit for bit.
func TestEvaluateIsOfAllWorkers(t *testing.T) {
	t.Parallel()
	values := func(servers, workers, rows int) (all [][]float64) {
		all = append(all, slices.Repeat([][]float64{nil}, workers)...)
		var mu sync.Mutex
		fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: "sync"})
			label := j.Loss.Graph().Node("y")
			pred := j.Outputs[0]
			x := j.Loss.Graph().Node("x")
			group := nn.Cast(nn.Scale(x, 3, 5.5), nn.Int64)          // no worker has all rows of one
			score := nn.Scale(nn.Square(nn.Scale(x, 1, 0.4)), .5, 0) // in another order than the labels
			near := nn.Scale(score, 1e-4, 0.5)
			nodes := []*nn.Node{j.Loss, j.Metrics[0], nn.BinaryAccuracy(pred, label), nn.MAE(pred, label), nn.Mean(pred),
				nn.GroupAUC(score, label, group), nn.AUC(near, label), nn.PRAUC(near, label)}
			j.Stdout, j.Hooks = io.Discard, []train.Hooks{{Begin: func(ctx context.Context, r *train.Run) error {
				v, err := train.Evaluate(ctx, f, points(rows), nodes...)
				if err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				all[f.WorkerIndex()] = v
				_, err = train.Evaluate(ctx, f, points(rows), j.Loss, newSigns().auc)
				if none, e := train.Evaluate(ctx, f, points(rows)); err == nil || len(none) > 0 || e != nil {
					t.Errorf("a node of another graph: error %v; no nodes: %v, %v", err, none, e)
				}
				return nil
			}}}
			_, err := j.Run(ctx, f)
			return err
		})
		return all
	}
	for _, rows := range []int{99, 1} {
		alone := values(0, 1, rows)[0]
		for _, size := range [][2]int{{2, 3}, {0, 2}} {
			for w, got := range values(size[0], size[1], rows) {
				for i := range got {
					if v := math.Abs(got[i] - alone[i]); v > 1e-6 || i > 4 && v > 0 || math.IsNaN(v) != (rows == 1 && (i == 1 || i > 4)) {
						t.Errorf("%d rows, %v: worker %d has %v, one process %v", rows, size, w, got, alone)
					}
				}
			}
		}
	}
	if none := values(0, 1, 0)[0]; slices.ContainsFunc(none, func(v float64) bool { return !math.IsNaN(v) }) {
		t.Errorf("of no rows the values are %v", none)
	}
}

// TestHistoryHasScoresOfAll: in a job's history are the AUCs of groups, and of scores that share a bucket, that Evaluate finds.
func TestHistoryHasScoresOfAll(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 1}, {2, 3}, {0, 2}} {
		fleettest.Run(t, size[0], size[1], func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: "sync", Epochs: 2})
			x, label := j.Loss.Graph().Node("x"), j.Loss.Graph().Node("y")
			score := nn.Scale(nn.Square(nn.Scale(x, 1, -0.02)), 1e-4, 0.5)
			j.Metrics = []*nn.Node{nn.GroupAUC(score, label, nn.Cast(nn.Scale(x, 3, 5.5), nn.Int64)), nn.AUC(score, label)}
			j.Stdout, j.Hooks = io.Discard, []train.Hooks{{EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
				want, err := train.Evaluate(ctx, f, points(100), j.Metrics...)
				for i, m := range j.Metrics {
					if got := r.History[len(r.History)-1].Value(m); got != want[i] || got < 0.1 || got > 0.95 {
						t.Errorf("%v: %s is %v, want %v", size, m.Label(), got, want[i])
					}
				}
				return err
			}}}
			_, err := j.Run(ctx, f)
			return err
		})
	}
}

// TestPredict: the lines are those of one process, in the rows' order, whoever computed them.
//
// Promise: [G13] predictions of a file come in its rows' order, one for each, by any number of workers, past bad
// lines too; by a saved model without a job, alone and by collective workers
// Also: TestPredictPassesOverBadLines, TestASavedModelPredicts
func TestPredict(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	predict := func(servers, workers, rows int) string {
		var out bytes.Buffer
		fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Mode: "sync"})
			pred := j.Outputs[0].Named("p")
			two := nn.Concat(pred, nn.Scale(pred, 2, 0)).Named("two")
			var to io.Writer
			if f.WorkerIndex() == 0 {
				to = &out
			}
			j.Stdout, j.Hooks = io.Discard, []train.Hooks{{Begin: func(ctx context.Context, r *train.Run) error {
				n, err := train.Predict(ctx, f, points(rows), to, pred, two)
				if n != rows {
					t.Errorf("%d rows were predicted, want %d", n, rows)
				}
				for _, bad := range [][]*nn.Node{nil, {j.Loss}, {nil}, {pred, newSigns().pred}} {
					if _, err := train.Predict(ctx, f, points(rows), to, bad...); err == nil {
						t.Errorf("outputs %v were taken", bad)
					}
				}
				return err
			}}}
			_, err := j.Run(ctx, f)
			return err
		})
		return out.String()
	}
	unnamed := newSigns().pred
	var out bytes.Buffer
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		_, err := train.Predict(ctx, f, points(1), &out, unnamed)
		return err
	})
	if header, _, _ := strings.Cut(out.String(), "\n"); header != unnamed.Name() {
		t.Errorf("the column of %q is called %q", unnamed.Name(), header)
	}
	for _, rows := range []int{0, 1, 2, 5000} {
		alone := predict(0, 1, rows)
		if lines := strings.Count(alone, "\n"); lines != rows+1 || !strings.HasPrefix(alone+"0.", "p,two_0,two_1\n0.") {
			t.Errorf("%d rows are %d lines:\n%.200s", rows, lines, alone)
		}
		for _, size := range [][2]int{{1, 3}, {0, 2}} {
			if got := predict(size[0], size[1], rows); got != alone {
				t.Errorf("%d rows: %v workers write\n%.200s\none process\n%.200s", rows, size, got, alone)
			}
		}
	}
}

// TestBadJobs says what is missing or wrong.
func TestBadJobs(t *testing.T) {
	t.Parallel()
	broken := errors.New("no data today")
	for want, spoil := range map[string]func(j *train.Job){
		"\"test auc\"": func(j *train.Job) {
			label := j.Loss.Graph().Node("y")
			j.Metrics = []*nn.Node{nn.AUC(j.Outputs[0], label), nn.AUC(j.Outputs[0], label)}
		},
		"\"test loss\"":         func(j *train.Job) { j.Metrics[0].Named("loss") },
		"Job.Loss is nil":       func(j *train.Job) { j.Loss = nil },
		"Job.Rule is nil":       func(j *train.Job) { j.Rule = nil },
		"Job.Files is empty":    func(j *train.Job) { j.Data = nil },
		"Job.Metrics[1] is nil": func(j *train.Job) { j.Metrics = append(j.Metrics, nil) },
		"Job.Show[0], \"AUC\"":  func(j *train.Job) { j.Show = []*nn.Node{newSigns().auc} },
		"Job.Outputs[0] is nil": func(j *train.Job) { j.Outputs = []*nn.Node{nil} },
		"-epochs=-1":            func(j *train.Job) { j.Epochs = -1 },
		"mode":                  func(j *train.Job) { j.Strategy = &strategy.Strategy{Mode: "often"} },
		"LR":                    func(j *train.Job) { j.Rule = optimizer.SGD{LR: -1} },
		"no rows to train on":   func(j *train.Job) { j.Data = given(nil, nil) },
		"no data today":         func(j *train.Job) { j.Data = given(nil, broken) },
		"call Load first":       func(j *train.Job) { j.Data = given(dataset.FromFiles(dataset.CriteoSlots(), "none.txt"), nil) },
		"is missing: the batch has [\"x\"]": func(j *train.Job) {
			j.Data = given(dataset.FromColumns(dataset.FloatValues("x", []float32{1}, 1)), nil)
		},
		"none/checkpoint": func(j *train.Job) { j.Load = "none/checkpoint" },
		"late": func(j *train.Job) {
			j.Data, j.Files.Paths = nil, []string{"none.csv"}
			j.Files.Format = dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("late")}}}
		},
		"not a directory": func(j *train.Job) { j.Out = "resume_test.go/out" },
	} {
		err := fails(t, func() train.Job {
			j := job(train.Options{})
			spoil(&j)
			return j
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func given(rows *dataset.Dataset, err error) func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) {
	return func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) { return rows, nil, err }
}
