package train_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"

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
	"github.com/gofleet/gofleet/strategy"
)

// tail is what a job with more evaluations than a checkpoint has room for came to.
type tail struct {
	last    train.Evaluation
	stopped string
	factor  float64
	history string // history.csv
}

// pace are the last four columns, which differ from run to run.
var pace = regexp.MustCompile(`(?m)(,[^,\n]*){4}$`)

// many are epochs of a job that gets worse with each step behind its first epoch, and looks at that hundreds of times.
func many(t *testing.T, size [2]int, epochs int, out, checkpoints, best string) (got tail, results []train.Result) {
	t.Helper()
	results, _ = play(t, size[0], size[1], func() train.Job {
		j := job(train.Options{Mode: "sync", Epochs: epochs, Batch: 1, EvalEvery: 1, Out: out, Checkpoint: checkpoints})
		j.Data = data(40*size[1], 20)
		j.Metrics = []*nn.Node{nn.MAE(j.Outputs[0], j.Loss.Graph().Node("y"))} // an AUC has 65,536 buckets, which is much for so many evaluations
		j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
			if epoch == 0 {
				return rows
			}
			return rows.MapFloats("y", func(y float32) float32 { return 1 - y })
		}
		j.Rule = optimizer.SGD{LR: 1e-2}
		j.Hooks = []train.Hooks{
			train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 1e-2, Patience: 9, Factor: 0.8}}.Hooks(),
			train.EarlyStopping{Patience: 130}.Hooks(),
			train.BestModel{Dir: best}.Hooks(),
			{Begin: func(_ context.Context, r *train.Run) error {
				r.User = make([]byte, 30<<10) // so that less of the history has room
				return nil
			}, End: func(ctx context.Context, r *train.Run) (err error) {
				if r.Leads() {
					got.factor, err = r.Fleet.RateFactor(ctx)
				}
				return err
			}}}
		return j
	})
	got.last, got.stopped = results[0].Last, results[0].Stopped
	if out != "" {
		text, err := os.ReadFile(filepath.Join(out, "history.csv"))
		law.Check(t, err)
		got.history = pace.ReplaceAllString(string(text), "")
	}
	return got, results
}

// TestHooksBehindALongHistory: a job that is started again, of which a checkpoint has no room for all evaluations, decides as one that was
// not disturbed: rate, stop, the best model and what was counted are the same; and so is its history, which is read back from its file.
//
// Promise: [G6] where a history is longer than checkpoints have room for, hooks decide alike, examples are counted
// on, and the history and its best evaluations are read back from its file
// Also: TestTheBestOutlivesALongHistory
func TestHooksBehindALongHistory(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	for _, size := range trial.Some(t, [][2]int{{0, 1}, {1, 2}, {0, 2}}) {
		dir := t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		want, whole := many(t, size, 6, at("whole"), "", at("best whole"))
		for _, out := range trial.Some(t, []string{"out", ""}) {
			name, best := at("of"+out), at("best"+out)
			if out != "" {
				out = at(out)
			}
			many(t, size, 3, out, name, best)
			got, results := many(t, size, 6, out, name, best)
			want := want
			if out == "" {
				want.history = ""
			}
			if diff := cmpdiff.Diff(want, got, cmpdiff.AllowUnexported(tail{})); diff != "" {
				t.Errorf("%v, out %q: %s", size, out, diff)
			}
			for i, r := range results {
				if out != "" && !cmpdiff.Equal(r.History, whole[i].History) {
					t.Errorf("%v: worker %d has %d evaluations, undisturbed %d", size, i, len(r.History), len(whole[i].History))
				}
			}
			if a, b := mustLoss(t, best), mustLoss(t, at("best whole")); a != b {
				t.Errorf("%v: the best model has a loss of %v, undisturbed of %v", size, a, b)
			}
		}
		if want.stopped == "" || want.factor > 0.2 || len(whole[0].History) < 150 {
			t.Fatalf("%+v after %d evaluations: this shows nothing", want, len(whole[0].History))
		}
	}
}

func mustLoss(t *testing.T, dir string) float64 {
	t.Helper()
	m, err := serve.Load(dir)
	law.Check(t, err)
	return logLoss(t, m)
}

// TestTheModelIsTheBest: a job that stops since it gets no better leaves the best evaluation's model and the last step's checkpoint, in
// every kind of job, whoever evaluates when, and says so; the same command, and more epochs, go on with both.
func TestTheModelIsTheBest(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	kinds := []struct {
		mode             string
		servers, workers int
	}{{"sync", 0, 1}, {"sync", 0, 2}}
	for _, mode := range strategy.Modes() {
		kinds = append(kinds, struct {
			mode             string
			servers, workers int
		}{string(mode), 1, 3})
	}
	for _, k := range trial.Some(t, kinds) {
		for _, every := range []int{0, 3} {
			dir := t.TempDir()
			out, checkpoints := filepath.Join(dir, "out"), filepath.Join(dir, "checkpoints")
			run := func(epochs int) ([]train.Result, string) {
				return play(t, k.servers, k.workers, func() train.Job {
					j := job(train.Options{Mode: k.mode, Epochs: epochs, Batch: 20, EvalEvery: every, Out: out, Checkpoint: checkpoints,
						Patience: 6})
					j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
						if epoch < 2 {
							return rows
						}
						return rows.MapFloats("y", func(y float32) float32 { return 1 - y }) // worse with every step
					}
					return j
				})
			}
			run(2)
			first, said := run(4)
			if n := len(first[0].History); first[0].Stopped == "" && every > 0 {
				t.Fatalf("%+v: not stopped in %d evaluations", k, n)
			}
			h := first[0].History
			at := slices.MinFunc(h, func(a, b train.Evaluation) int { return cmp.Compare(a.Value(nil), b.Value(nil)) })
			if at.Epoch != 2 || mustLoss(t, filepath.Join(out, "model"))-at.Value(nil) > 1e-5 || at.Value(nil)-mustLoss(t, filepath.Join(out, "model")) > 1e-5 {
				t.Errorf("%+v, every %d: the model has a loss of %v, the best of the evaluations is %+v of %+v", k, every,
					mustLoss(t, filepath.Join(out, "model")), at, h)
			}
			want := fmt.Sprintf("saved %s: model is the best, of epoch 2 with test loss %.4f, checkpoint the last, of epoch %d\n",
				out, at.Value(nil), h[len(h)-1].Epoch)
			if !strings.HasSuffix(said, want) {
				t.Errorf("%+v, every %d: no %q in\n%s", k, every, want, said)
			}
			again, said := run(4) // over
			if !cmpdiff.Equal(again[0].History, h) || !strings.HasSuffix(said, want) {
				t.Errorf("%+v, every %d: again\n%s", k, every, said)
			}
		}
	}
}

// TestTheBestModelIsWhatWasMeasured: others don't train on while it is saved.
//
// Promise: [G6] a model that is saved for an evaluation is the one that was measured, whoever trains on; a job that
// stops since it gets no better leaves the best one's, and the last step's checkpoint
// Also: TestTheModelIsTheBest
func TestTheBestModelIsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		for _, k := range []struct{ servers, workers, threads int }{{1, 3, 1}, {1, 3, 2}, {0, 1, 2}} {
			threads := k.threads
			if threads > 1 && (mode == "sync" || mode == "ssp") {
				continue
			}
			dir := filepath.Join(t.TempDir(), "best")
			results, _ := play(t, k.servers, k.workers, func() train.Job {
				j := job(train.Options{Mode: string(mode), Epochs: 2, Batch: 5, EvalEvery: 4, Threads: threads})
				j.Rows = func(_ int, rows *dataset.Dataset) *dataset.Dataset { // worse with every step, so that the first evaluation is best
					return rows.MapFloats("y", func(y float32) float32 { return 1 - y })
				}
				j.Hooks = []train.Hooks{train.BestModel{Dir: dir}.Hooks()}
				return j
			})
			h := results[0].History
			at := slices.MinFunc(h, func(a, b train.Evaluation) int { return cmp.Compare(a.Value(nil), b.Value(nil)) })
			if at.End {
				t.Fatalf("%s: the best is at an epoch's end", mode)
			}
			if got := mustLoss(t, dir); math.Abs(got-at.Value(nil)) > 1e-5 {
				t.Errorf("%s, %+v: the model has a loss of %v, measured was %v", mode, k, got, at.Value(nil))
			}
		}
	}
}

// TestEvalEveryIsRefusedWithFreeThreads: a job whose threads push while it evaluates in the middle of an epoch is refused when it begins.
func TestEvalEveryIsRefusedWithFreeThreads(t *testing.T) {
	t.Parallel()
	for servers, refused := range []bool{false, true} {
		errs := fleettest.Cluster{Servers: servers, Workers: 1}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			j := job(train.Options{Epochs: 1, Batch: 5, EvalEvery: 4, Threads: 2})
			s := strategy.HalfAsync()
			s.GradientMerge.KSteps = 2
			j.Strategy = &s
			_, err := j.Run(ctx, f)
			return err
		})
		for role, err := range errs {
			if refused != (err != nil && strings.Contains(err.Error(), "gradient_merge: threads go on")) {
				t.Errorf("%d servers, %s: %v", servers, role, err)
			}
		}
	}
}

// TestTheRateOfALoadedJob: a job that begins from a checkpoint whose rate had fallen says so, and lowers it from there.
func TestTheRateOfALoadedJob(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range trial.Some(t, [][2]int{{0, 1}, {1, 2}, {0, 2}}) {
		out := filepath.Join(t.TempDir(), "out")
		run := func(load string, epochs int) (said string, factors []float64) {
			_, said = play(t, size[0], size[1], func() train.Job {
				j := job(train.Options{Mode: "sync", Epochs: epochs, Batch: 20, Load: load, Out: out})
				j.Rule = optimizer.SGD{LR: 1e-2}
				j.Hooks = []train.Hooks{train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 1e-2, Patience: -1, Threshold: 10,
					Absolute: true}}.Hooks(), {EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
					factor, err := r.Fleet.RateFactor(ctx)
					if r.Leads() {
						factors = append(factors, factor)
					}
					return err
				}}}
				return j
			})
			return said, factors
		}
		said, first := run("", 3)
		if strings.Contains(said, "learning rates are") {
			t.Errorf("%v: %s", size, said)
		}
		for _, from := range []struct {
			load   string
			factor float64
		}{{out + "/checkpoint", first[2]}, {out + "/model", 1}} {
			said, then := run(from.load, 3)
			for i, f := range then {
				if want := from.factor * math.Pow(0.1, float64(i)); math.Abs(f-want) > 1e-6*want {
					t.Errorf("%v, from %s: factors %v, before %v", size, from.load, then, first)
				}
			}
			if strings.Contains(said, "learning rates are 0.01 of the rule's") != (from.factor < 1) {
				t.Errorf("%v, from %s: %s", size, from.load, said)
			}
			run("", 3) // what -load begins from is there again
		}
	}
}
