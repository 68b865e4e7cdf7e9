package train_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
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
	"github.com/gofleet/gofleet/optimizer/lr"
)

// recorded are hooks that write down that they are called.
func recorded(to *[]string, worker int) train.Hooks {
	note := func(r *train.Run, format string, args ...any) error {
		if r.Fleet.WorkerIndex() == worker {
			*to = append(*to, fmt.Sprintf(format, args...))
		}
		return nil
	}
	return train.Hooks{
		Begin:      func(_ context.Context, r *train.Run) error { return note(r, "begin") },
		EpochBegin: func(_ context.Context, r *train.Run) error { return note(r, "epoch %d", r.Epoch) },
		Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
			return note(r, "step %d", so.Steps)
		},
		Evaluated: func(_ context.Context, r *train.Run, e train.Evaluation) error {
			return note(r, "evaluated %d %t", e.Examples, e.End)
		},
		EpochEnd: func(_ context.Context, r *train.Run, done nn.TrainResult) error {
			return note(r, "ended %d", done.Samples)
		},
		Saved: func(_ context.Context, r *train.Run, dir string) error {
			return note(r, "saved %s", filepath.Base(dir))
		},
		End: func(_ context.Context, r *train.Run) error { return note(r, "end") },
	}
}

// TestHooksAreCalled: each in its place, the same in every kind of job, and an error of one ends it.
func TestHooksAreCalled(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	want := "begin, epoch 0, step 1, step 2, evaluated 160 false, step 3, ended, epoch 1, step 1, step 2, evaluated 400 false, step 3, ended, saved out, end"
	for _, size := range [][2]int{{0, 1}, {1, 2}, {0, 2}} {
		var calls []string
		play(t, size[0], size[1], func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 2, Batch: 80 / size[1], EvalEvery: 2, Out: filepath.Join(t.TempDir(), "out")})
			j.Data = data(240, 40)
			j.Hooks = []train.Hooks{{}, recorded(&calls, 0)}
			return j
		})
		got := strings.Join(slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return strings.HasSuffix(c, "true") }), ", ")
		got = strings.NewReplacer("ended 240", "ended", "ended 120", "ended").Replace(got)
		if got != want || !slices.Contains(calls, "evaluated 240 true") || !slices.Contains(calls, "evaluated 480 true") {
			t.Errorf("%v: %s\nwant %s\nof %v", size, got, want, calls)
		}
	}
	hooks := reflect.TypeFor[train.Hooks]()
	for i := range hooks.NumField() {
		if hooks.Field(i).Type.Kind() == reflect.Func && reflect.ValueOf(recorded(nil, 0)).Field(i).IsNil() {
			t.Errorf("nothing shows that %s is called", hooks.Field(i).Name)
		}
	}
	tired := errors.New("tired")
	for i := range hooks.NumField() {
		if hooks.Field(i).Type.Kind() != reflect.Func {
			continue
		}
		t.Run(hooks.Field(i).Name, func(t *testing.T) {
			err := fails(t, func() train.Job {
				var h train.Hooks
				field := reflect.ValueOf(&h).Elem().Field(i)
				field.Set(reflect.MakeFunc(field.Type(), func([]reflect.Value) []reflect.Value {
					return []reflect.Value{reflect.ValueOf(&tired).Elem()}
				}))
				j := job(train.Options{Out: t.TempDir()})
				j.Hooks = []train.Hooks{h}
				return j
			})
			if !errors.Is(err, tired) {
				t.Errorf("the job ends with %v", err)
			}
		})
	}
}

// TestEarlyStopping: the job ends on all workers when the loss on the test rows has not become better, and its model is saved.
func TestEarlyStopping(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range [][2]int{{0, 1}, {2, 2}, {0, 2}} {
		dir := t.TempDir()
		results, said := play(t, size[0], size[1], func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 50, Batch: 20, Out: dir})
			j.Hooks = []train.Hooks{train.EarlyStopping{Patience: 2, Least: 0.05}.Hooks()}
			return j
		})
		for i, res := range results {
			n := len(res.History)
			if n < 3 || n > 20 || !strings.Contains(res.Stopped, "no evaluation since epoch") {
				t.Fatalf("%v: worker %d has %d evaluations, stopped %q", size, i, n, res.Stopped)
			}
			losses := make([]float64, n)
			for j, e := range res.History {
				losses[j] = e.Values[train.EvalLoss]
			}
			best := losses[n-3]
			if slices.Min(losses[n-2:]) < best-0.05 || n > 3 && losses[n-3] >= losses[0]-0.05 {
				t.Errorf("%v: worker %d stopped after losses %v", size, i, losses)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "model", "graph.json")); err != nil || !strings.Contains(said, "saved") ||
			!strings.Contains(said, "stopped after epoch ") {
			t.Errorf("error %v; worker 0 said\n%s", err, said)
		}
	}
}

// TestLessPatience: a job that goes on with less patience than its evaluations have taken stops before it trains, and evaluates nothing anew.
func TestLessPatience(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		for _, workers := range []int{1, 2} {
			dir := t.TempDir()
			for _, patience := range []int{9, 1} {
				results, _ := play(t, servers, workers, func() train.Job {
					j := job(train.Options{Mode: "sync", Epochs: 3 + 3/patience, Batch: 20, Checkpoint: dir, Patience: patience})
					j.Rule = optimizer.SGD{LR: 1e-30}
					return j
				})
				if r := results[0]; len(r.History) != 3 || (r.Stopped != "") != (patience == 1) {
					t.Errorf("%d servers, %d workers, patience %d: %d evaluations, stopped %q", servers, workers, patience, len(r.History), r.Stopped)
				}
			}
		}
	}
}

// TestStopInAStep: one worker that stops has the others end at the epoch's end.
func TestStopInAStep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stops := func() train.Job {
		j := job(train.Options{Mode: "async", Epochs: 9, Batch: 20, Checkpoint: dir})
		j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
			if r.Fleet.WorkerIndex() == 1 && r.Epoch == 1 && so.Steps == 3 {
				r.Stop("it is late")
				r.Stop("it is later")
			}
			return nil
		}}}
		return j
	}
	results, said := play(t, 1, 2, stops)
	_, again := play(t, 1, 2, stops)
	where := fmt.Sprintf("stopped in the middle of epoch 2/9, after %d of its 400 examples: ", 200+results[1].Epoch.Samples)
	for _, said := range []string{said, again} {
		if !strings.Contains(said, where) {
			t.Errorf("worker 0 does not say %q:\n%s", where, said)
		}
	}
	for i, why := range []string{"it is late", "it is late"} {
		if res := results[i]; res.Stopped != why || len(res.History) != 2 || res.Last.Epoch != 2 {
			t.Errorf("worker %d: stopped %q after %+v", i, res.Stopped, res.History)
		}
	}
	if a, b := results[0].Epoch.Samples, results[1].Epoch.Samples; a != 200 || b > 100 {
		t.Errorf("in the last epoch the workers trained on %d and %d examples", a, b)
	}
}

// TestBestModel: the model that is kept is that of the best evaluation, not the last.
func TestBestModel(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "best")
	var saves []string
	results, _ := play(t, 1, 2, func() train.Job {
		j := job(train.Options{Mode: "sync", Epochs: 5, Batch: 20})
		j.Metrics = append(j.Metrics, nn.BinaryAccuracy(j.Outputs[0], j.Loss.Graph().Node("y")))
		j.Hooks = []train.Hooks{train.BestModel{Dir: dir}.Hooks(), recorded(&saves, 0), {
			Evaluated: func(ctx context.Context, r *train.Run, e train.Evaluation) error {
				if e.Epoch == 3 && r.Fleet.IsFirstWorker() { // from now on the model gets worse
					return r.Fleet.SetRate(ctx, 1e4)
				}
				return nil
			},
		}}
		return j
	})
	h := results[0].History
	if !(h[2].Values[train.EvalLoss] < h[1].Values[train.EvalLoss] && h[3].Values[train.EvalLoss] > h[2].Values[train.EvalLoss]) {
		t.Fatalf("the model does not get better and worse: %+v", h)
	}
	m, err := serve.Load(dir)
	law.Check(t, err)
	if got := logLoss(t, m); got > h[2].Values[train.EvalLoss]+1e-6 || got < h[2].Values[train.EvalLoss]-1e-6 {
		t.Errorf("the best model has loss %v, the history %+v", got, h)
	}
	if n := strings.Count(strings.Join(saves, " "), "saved best"); n != 3 {
		t.Errorf("it was saved %d times: %v", n, saves)
	}
}

// TestBestModelOfAnEarlierJob: a job that begins anew where the best model of another lies says so; the first, and one that goes on, do not.
func TestBestModelOfAnEarlierJob(t *testing.T) {
	// Serial: it takes over the process's log.
	dir, checkpoints := filepath.Join(t.TempDir(), "best"), t.TempDir()
	for i, c := range []struct {
		into   string
		epochs int
		warned bool
	}{{checkpoints, 1, false}, {checkpoints, 2, false}, {"", 1, true}} {
		said := logged(t, func() {
			play(t, 1, 2, func() train.Job {
				j := job(train.Options{Mode: "sync", Epochs: c.epochs, Checkpoint: c.into})
				j.Hooks = []train.Hooks{train.BestModel{Dir: dir}.Hooks()}
				return j
			})
		})
		if warned := strings.Count(said, "the best model of an earlier job is here") == 1 && strings.Contains(said, dir); warned != c.warned {
			t.Errorf("job %d: the log is %s", i, said)
		}
	}
}

// TestOneClass: test rows of one class have no AUC, and each evaluation says so once; the loss is there.
func TestOneClass(t *testing.T) {
	// Serial: it takes over the process's log.
	var results []train.Result
	var printed string
	said := logged(t, func() {
		results, printed = play(t, 1, 2, func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 2})
			j.Data = func(context.Context) (rows, test *dataset.Dataset, err error) { return points(400), points(10), nil } // all below 0
			return j
		})
	})
	last := results[0].Last
	if _, measured := last.Values["test AUC"]; measured || !(last.Values[train.EvalLoss] > 0) || strings.Contains(printed, "AUC 0.5") {
		t.Errorf("the evaluation is %+v, printed as %s", last, printed)
	}
	if n := strings.Count(said, "needs labels of both classes"); n != 2 {
		t.Errorf("%d lines in two evaluations: %s", n, said)
	}
}

// TestNoLoss: test rows one of which is fed no number have no loss, which each evaluation says. None is the best then: the job stops when its
// patience ends, and leaves the model of its last step.
func TestNoLoss(t *testing.T) {
	// Serial: it takes over the process's log.
	dir := t.TempDir()
	var results []train.Result
	var printed string
	said := logged(t, func() {
		results, printed = play(t, 1, 2, func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 9, Batch: 50, Out: filepath.Join(dir, "out"), Patience: 2})
			j.Hooks = []train.Hooks{train.BestModel{Dir: filepath.Join(dir, "best")}.Hooks()}
			j.Data = func(context.Context) (rows, test *dataset.Dataset, err error) {
				return points(400), points(40).MapFloats("x", func(x float32) float32 {
					if x > 0.9 {
						return float32(math.NaN())
					}
					return x
				}), nil
			}
			return j
		})
	})
	if r := results[1]; len(r.History) != 2 || r.Stopped != "no evaluation has a test loss" {
		t.Errorf("%d evaluations, stopped %q", len(r.History), r.Stopped)
	}
	if n := strings.Count(said, "the test rows have no loss"); n != 2 {
		t.Errorf("%d lines in two evaluations: %s", n, said)
	}
	if strings.Contains(printed, "best") || !strings.HasSuffix(printed, "saved "+filepath.Join(dir, "out")+"\n") {
		t.Errorf("the job said\n%s", printed)
	}
	for _, none := range []string{"best", "out/best.json"} {
		if _, err := os.Stat(filepath.Join(dir, none)); err == nil {
			t.Errorf("%s is there", none)
		}
	}
	mustLoss(t, filepath.Join(dir, "out", "model"))
}

// logged is what a call writes to the default log.
func logged(t *testing.T, call func()) string {
	t.Helper()
	old := slog.Default()
	defer slog.SetDefault(old)
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil))) // which writes one record at a time
	call()
	return out.String()
}

// TestServingHooks: hooks save a base, and a delta after each epoch, which together are the model, in every kind of job. One
// that ends behind a delta of which its checkpoint does not know saves a new base when it is started again, and deltas that
// follow it.
func TestServingHooks(t *testing.T) {
	t.Parallel()
	kindsOfJobs(t, func(mode string, servers int) {
		for _, workers := range []int{1, 2} {
			dir, enough := t.TempDir(), errors.New("enough")
			made := func(ends bool) train.Job {
				j := job(train.Options{Mode: mode, Epochs: 4, Checkpoint: filepath.Join(dir, "ck")})
				save := func(ctx context.Context, r *train.Run, mode fleet.SaveMode, to string) error {
					if !r.Leads() {
						return nil
					}
					_, err := r.Fleet.SaveModel(ctx, filepath.Join(dir, "serving", to),
						fleet.SaveOptions{Mode: mode, Model: nn.Inference(j.Outputs...)})
					return err
				}
				j.Hooks = []train.Hooks{{
					Begin: func(ctx context.Context, r *train.Run) error { return save(ctx, r, fleet.SaveBase, "base") },
					EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
						err := save(ctx, r, fleet.SaveDelta, fmt.Sprintf("delta-%03d", r.Epoch+1))
						if ends && r.Epoch == 2 {
							err = errors.Join(err, r.Fleet.BarrierWorker(ctx), enough)
						}
						return err
					},
				}}
				j.Stdout = io.Discard
				return j
			}
			var last train.Evaluation
			for _, ends := range []bool{true, false} {
				fleettest.Cluster{Servers: servers, Workers: workers}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
					res, err := made(ends).Run(ctx, f)
					if f.IsFirstWorker() {
						last = res.Last
					}
					if ends && (f.IsServer() || errors.Is(err, enough)) {
						return nil // servers miss the workers, which have had enough
					}
					return err
				})
			}
			at := func(name string) string { return filepath.Join(dir, "serving", name) }
			m, err := serve.Load(at("base"), at("delta-003"), at("delta-004"))
			if err != nil {
				t.Errorf("%q, %d workers: %v", mode, workers, err)
				continue
			}
			s, err := serve.OpenScorer(at("base"), serve.ScorerOptions{Deltas: filepath.Join(dir, "serving")})
			if err != nil || s.Version() != m.Version() {
				t.Errorf("%q, %d workers: a scorer of %v, error %v, want %s", mode, workers, s, err, m.Version())
			}
			if got, want := logLoss(t, m), last.Values[train.EvalLoss]; !trial.Near(got, want, 1e-5) {
				t.Errorf("%q, %d workers: the base and its deltas have loss %v, the job's end %v", mode, workers, got, want)
			}
		}
	})
}

// TestPlateau: the rate falls for all workers when the loss stays where it is, and the job says so.
func TestPlateau(t *testing.T) {
	t.Parallel()
	for _, size := range [][2]int{{0, 1}, {1, 2}, {0, 2}} {
		var factor float64
		_, said := play(t, size[0], size[1], func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 4, Batch: 20})
			j.Rule = optimizer.SGD{LR: 1e-9}
			j.Hooks = []train.Hooks{
				train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 1e-9, Patience: 1, Factor: 0.5, Epsilon: 1e-12}}.Hooks(),
				{End: func(ctx context.Context, r *train.Run) (err error) {
					if r.Fleet.WorkerIndex() == r.Fleet.WorkerNum()-1 {
						factor, err = r.Fleet.RateFactor(ctx)
					}
					return err
				}}}
			return j
		})
		if factor != 0.5 || !strings.Contains(said, "the learning rate is 5e-10 now") {
			t.Errorf("%v: the rate's factor is %v; worker 0 said\n%s", size, factor, said)
		}
	}
}

// TestHooksOfAnotherJob: hooks that have served one job of a process do in the next what they did in the first.
func TestHooksOfAnotherJob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var steps bytes.Buffer
	hooks := []train.Hooks{
		train.EarlyStopping{Patience: 2}.Hooks(),
		train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 0.5, Patience: -1, Factor: 0.5, Threshold: 10, Absolute: true}}.Hooks(),
		train.BestModel{Dir: filepath.Join(dir, "best")}.Hooks(), train.TensorBoard{Dir: filepath.Join(dir, "board"), Every: 1}.Hooks(),
		train.HistoryCSV(filepath.Join(dir, "history.csv")), train.HistoryJSON(filepath.Join(dir, "history.json")),
		train.Curves(filepath.Join(dir, "curves.svg")), train.Calibration(filepath.Join(dir, "calibration.svg")),
		train.LogSteps(slog.New(slog.NewTextHandler(&steps, nil)), 5),
	}
	var lives [2]train.Result
	var factors [2]float64
	for life := range lives {
		steps.Reset()
		fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) (err error) {
			j := job(train.Options{Epochs: 6, Batch: 50})
			j.Stdout, j.Hooks = io.Discard, append(slices.Clone(hooks), train.Hooks{End: func(ctx context.Context, r *train.Run) (err error) {
				factors[life], err = r.Fleet.RateFactor(ctx)
				return err
			}})
			lives[life], err = j.Run(ctx, f)
			return err
		})
		if steps.Len() == 0 || factors[life] == 1 {
			t.Errorf("job %d: %d bytes of log, the rate's factor is %v", life+1, steps.Len(), factors[life])
		}
	}
	if !reflect.DeepEqual(lives[0].History, lives[1].History) || lives[0].Stopped != lives[1].Stopped || factors[0] != factors[1] {
		t.Errorf("the second job has %+v by %v, the first %+v by %v", lives[1], factors[1], lives[0], factors[0])
	}
}

// TestLogSteps: a record every so many steps.
func TestLogSteps(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	play(t, 0, 1, func() train.Job {
		j := job(train.Options{Epochs: 2, Batch: 40})
		j.Hooks = []train.Hooks{train.LogSteps(slog.New(slog.NewTextHandler(&out, nil)), 5)}
		return j
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 4 || !strings.Contains(lines[3], "worker=0 epoch=2 step=10 examples=400 loss=0.") || !strings.Contains(lines[3], " AUC=1") {
		t.Errorf("logged\n%s", out.String())
	}
}

// TestHooksThatCantWork are refused when the job begins.
func TestHooksThatCantWork(t *testing.T) {
	t.Parallel()
	stranger := newSigns().auc
	for want, h := range map[string]train.Hooks{
		"Patience -1":                train.EarlyStopping{Patience: -1}.Hooks(),
		"not in Job.Metrics":         train.EarlyStopping{Metric: stranger}.Hooks(),
		`Dir ""`:                     train.BestModel{}.Hooks(),
		"LogSteps(<nil>, 1)":         train.LogSteps(nil, 1),
		"Plateau looks at \"AUC\"":   train.Plateau{Metric: stranger}.Hooks(),
		"BestModel looks at \"AUC\"": train.BestModel{Dir: "x", Metric: stranger}.Hooks(),
	} {
		err := fails(t, func() train.Job {
			j := job(train.Options{})
			j.Hooks = []train.Hooks{h}
			return j
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	err := fails(t, func() train.Job {
		j := job(train.Options{})
		j.Data, j.Hooks = data(40, 0), []train.Hooks{train.EarlyStopping{}.Hooks()}
		return j
	})
	if err == nil || !strings.Contains(err.Error(), "gives no test rows") {
		t.Errorf("error %v", err)
	}
}

// TestStoppedBeforeTheFirstStep: a job that is stopped before it has trained, or between two epochs, evaluates and ends as any that is stopped.
func TestStoppedBeforeTheFirstStep(t *testing.T) {
	t.Parallel()
	stop := func(_ context.Context, r *train.Run) error {
		if r.Epoch == len(r.History) && r.Fleet.IsFirstWorker() {
			r.Stop("enough")
		}
		return nil
	}
	for _, size := range [][2]int{{0, 1}, {1, 2}, {0, 2}} {
		for _, threads := range []int{1, 2} {
			for _, hook := range []train.Hooks{{Begin: stop}, {EpochBegin: stop}} {
				results, _ := play(t, size[0], size[1], func() train.Job {
					o := train.Options{Mode: "sync", Epochs: 3, Batch: 80}
					if size[1] == 1 {
						o.Threads = threads
					}
					j := job(o)
					j.Hooks = []train.Hooks{hook}
					return j
				})
				if r := results[0]; r.Stopped != "enough" || len(r.History) != 1 || !r.Last.End || r.Epoch.Steps > 0 {
					t.Errorf("%v: %+v", size, r)
				}
			}
		}
	}
}

// TestOneOfManyStops: a worker that stops the job alone ends it for all, whenever the others evaluate.
func TestOneOfManyStops(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, servers := range []int{0, 1} {
		for _, every := range []int{0, 1, 3, 100} {
			for _, at := range []int{1, 3, 4, 9} {
				results, _ := play(t, servers, 2, func() train.Job {
					j := job(train.Options{Mode: "sync", Epochs: 3, Batch: 10, EvalEvery: every})
					j.Data = data(201, 20)
					j.Hooks = []train.Hooks{{Step: func(_ context.Context, r *train.Run, so nn.TrainResult) error {
						if r.Fleet.WorkerIndex() == 1 && so.Steps == at {
							r.Stop("enough")
						}
						return nil
					}}}
					return j
				})
				for worker, r := range results {
					if r.Stopped != "enough" || !r.Last.End || r.Last.Epoch != 1 {
						t.Errorf("%d servers, stopped in step %d, evaluated every %d: worker %d: %+v", servers, at, every, worker, r)
					}
				}
			}
		}
	}
}

// TestTheBestOutlivesALongHistory: a job that is started again with a history of which its checkpoint had no room for all still knows the best
// evaluation, and keeps that model.
func TestTheBestOutlivesALongHistory(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	dir, best := t.TempDir(), filepath.Join(t.TempDir(), "best")
	epochs := func(n int) ([]train.Result, string) {
		results, _ := play(t, 0, 1, func() train.Job {
			j := job(train.Options{Epochs: n, Batch: 1, EvalEvery: 1, Checkpoint: dir})
			j.Data = data(400, 20)
			j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
				if epoch > 0 {
					return rows.Take(20)
				}
				return rows.MapFloats("y", func(y float32) float32 { return 1 - y }) // worse with every step
			}
			j.Hooks = []train.Hooks{train.BestModel{Dir: best}.Hooks(), {Begin: func(_ context.Context, r *train.Run) error {
				r.User = make([]byte, 30<<10)
				return nil
			}}}
			return j
		})
		version, err := serve.Version(best)
		law.Check(t, err)
		return results, version
	}
	first, want := epochs(1)
	again, version := epochs(2)
	least := func(h []train.Evaluation) float64 {
		return slices.MinFunc(h, func(a, b train.Evaluation) int { return cmp.Compare(a.Value(nil), b.Value(nil)) }).Value(nil)
	}
	h := again[0].History
	if len(first[0].History) != 400 || len(h) >= 400 || least(h[len(h)-20:]) <= least(first[0].History) {
		t.Fatalf("%d evaluations, then %d of which the last are %v: this shows nothing", len(first[0].History), len(h), h[len(h)-20:])
	}
	if version != want || least(h) != least(first[0].History) {
		t.Errorf("the best of the evaluations is %v, was %v; the best model %s, was %s", least(h), least(first[0].History), version, want)
	}
}

// TestEvaluationsOfUnevenShares: workers without servers whose shares end at different steps evaluate together, or not at all between them.
func TestEvaluationsOfUnevenShares(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rows, every, evaluations int }{{101, 5, 2}, {101, 3, 4}, {120, 5, 4}} {
		results, _ := play(t, 0, 2, func() train.Job {
			j := job(train.Options{Mode: "sync", Epochs: 2, Batch: 10, EvalEvery: c.every})
			j.Data = data(c.rows, 20)
			return j
		})
		for worker, r := range results {
			if len(r.History) != c.evaluations {
				t.Errorf("%+v: worker %d has %d evaluations", c, worker, len(r.History))
			}
		}
	}
}
