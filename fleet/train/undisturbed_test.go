package train_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	cmpdiff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// drawn is a job, and how it is stopped on its way, by a seed.
type drawn struct {
	Mode                        string
	Servers, Workers, Again     int // Again are the servers that it goes on with
	Rows, Batch, Every, Epochs  int
	Patience, Lower             int
	Epoch, Step                 int  // where it is stopped
	Evaluated, EpochEnd, Bloats bool // by which hook, and whether its checkpoints have little room
	Bare                        bool // nothing is saved when it is stopped
	At                          int  // the evaluation behind which it is, if not 0
	Norm                        bool // its model has moving averages and dropout
	Sharded                     bool
	Ended                       bool // its context ends, wherever the other workers are
}

func draw(seed uint64) drawn {
	r := rand.New(rand.NewPCG(seed, 7))
	d := drawn{Mode: "sync", Servers: r.IntN(3), Workers: 1 + r.IntN(3), Rows: 60 + r.IntN(140), Batch: 5 + r.IntN(16),
		Every: r.IntN(5), Epochs: 3 + r.IntN(4), Patience: 2 + r.IntN(8), Lower: r.IntN(4), Bloats: r.IntN(2) == 0}
	if d.Servers > 0 {
		d.Again = 1 + r.IntN(3)
	}
	d.Epoch, d.Step = r.IntN(3), 1+r.IntN(max(1, d.Rows/d.Workers/d.Batch-1))
	switch r.IntN(3) {
	case 0:
		d.Evaluated = true
	case 1:
		d.EpochEnd = true
	}
	d.Bare = r.IntN(3) == 0
	d.Norm = r.IntN(3) > 0
	d.Sharded = d.Workers > 1 && r.IntN(3) == 0
	if d.Ended = r.IntN(2) == 0; d.Ended {
		d.Bare, d.Step = false, 1+r.IntN(5)
	}
	return d
}

// normalised is a model of the points with moving averages and dropout.
func normalised() signs {
	g := nn.NewGraph(1)
	label, x := g.Input("y", 1), g.Input("x", 1)
	x = nn.BatchNorm(nn.Linear(x, 4, nn.LinearOptions{Act: nn.Tanh}), nn.NormOptions{})
	pred := nn.Linear(nn.Dropout(x, 0.2), 1, nn.LinearOptions{Act: nn.Sigmoid})
	return signs{pred, nn.Mean(nn.LogLoss(pred, label)), nn.AUCOf(pred, label, 1023).Named("AUC")}
}

// lasting is what a job leaves that decides by its evaluations.
type lasting struct {
	History []train.Evaluation
	Stopped string
	Factor  float64
	Best    float64
	Model   float64
}

// play runs the job until it is stopped, or to its end.
func (d drawn) play(t *testing.T, servers int, dir string, stops bool) (got lasting) {
	enough := errors.New("enough")
	whole, end := context.WithCancel(t.Context())
	defer end()
	errs := fleettest.Cluster{Servers: servers, Workers: d.Workers}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		j := job(train.Options{Mode: strings.TrimPrefix(d.Mode, "local "), Epochs: d.Epochs, Batch: d.Batch, EvalEvery: d.Every,
			Checkpoint: filepath.Join(dir, "checkpoints"), Out: filepath.Join(dir, "out"), Patience: d.Patience})
		j.Data, j.Stdout, j.Rule, j.Sharded = data(d.Rows, 20), io.Discard, optimizer.Adam{LR: 0.05}, d.Sharded
		if d.Norm {
			net := normalised()
			j.Loss, j.Metrics, j.Outputs = net.loss, []*nn.Node{net.auc}, []*nn.Node{net.pred}
		}
		if d.Mode == "geo" || d.Mode == "local sync" {
			j.Rule = optimizer.SGD{LR: 0.05}
		}
		if d.Mode == "local sync" {
			s, err := j.Options.Strategy()
			if err != nil {
				return err
			}
			s.LocalSGD = strategy.LocalSGD{KSteps: 2}
			j.Strategy = &s
		}
		j.Rows = func(epoch int, rows *dataset.Dataset) *dataset.Dataset {
			if rows = rows.Shuffle(0).Epoch(epoch); epoch == 0 {
				return rows
			}
			return rows.MapFloats("y", func(y float32) float32 { return 1 - y }) // worse with every step
		}
		ctx, cancel := context.WithCancel(ctx)
		defer context.AfterFunc(whole, cancel)()
		stop := func(ctx context.Context, r *train.Run) error {
			if d.Ended {
				end()
				return nil
			}
			if err := r.Fleet.BarrierWorker(ctx); err != nil {
				return err
			}
			if r.Fleet.IsFirstWorker() && !d.Bare {
				if err := r.Fleet.Checkpoint(ctx); err != nil {
					return err
				}
			}
			return errors.Join(r.Fleet.BarrierWorker(ctx), enough)
		}
		j.Hooks = []train.Hooks{
			train.Plateau{ReduceOnPlateau: lr.ReduceOnPlateau{LR: 0.05, Patience: d.Lower - 1, Factor: 0.3}}.Hooks(),
			train.BestModel{Dir: filepath.Join(dir, "best")}.Hooks(),
			{
				Begin: func(_ context.Context, r *train.Run) error {
					if d.Bloats {
						r.User = make([]byte, 34<<10)
					}
					return nil
				},
				Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
					if stops && !d.Evaluated && !d.EpochEnd && r.Epoch == d.Epoch && so.Steps == d.Step {
						return stop(ctx, r)
					}
					return nil
				},
				Evaluated: func(ctx context.Context, r *train.Run, e train.Evaluation) error {
					if stops && d.Evaluated && r.Epoch == d.Epoch && (len(r.History)+d.Step)%2 == 0 && (d.At == 0 || len(r.History) == d.At) {
						return stop(ctx, r)
					}
					return nil
				},
				EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
					if stops && d.EpochEnd && r.Epoch == d.Epoch {
						return stop(ctx, r)
					}
					return nil
				},
				End: func(ctx context.Context, r *train.Run) (err error) {
					if r.Leads() {
						got.Factor, err = r.Fleet.RateFactor(ctx)
					}
					return err
				},
			},
		}
		res, err := j.Run(ctx, f)
		if f.IsWorker() && f.WorkerIndex() == 0 {
			got.History, got.Stopped = res.History, res.Stopped
		}
		return err
	})
	for role, err := range errs {
		if err != nil && !stops {
			t.Fatalf("%s: %v", role, err)
		}
	}
	if !stops {
		got.Best, got.Model = mustLoss(t, filepath.Join(dir, "best")), mustLoss(t, filepath.Join(dir, "out", "model"))
	}
	return got
}

// TestStoppedBehindItsEnd: a job that is stopped right behind the evaluation by which it ends early goes on with the batch that it had read
// ahead there, as one that was not disturbed does.
//
// Promise: [G6] a job in step that is stopped anywhere has the history, the end, the rate and the best model of one
// that was not disturbed; `FLEET_SEEDS` says how many are drawn
func TestStoppedBehindItsEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, servers := range []int{0, 1} {
		for _, workers := range []int{1, 2} {
			d := drawn{Mode: "sync", Servers: servers, Workers: workers, Again: servers, Rows: 80, Batch: 5, Every: 2, Epochs: 3, Patience: 2,
				Lower: 1, Epoch: 1, Step: 1, Evaluated: true}
			whole, dir := t.TempDir(), t.TempDir()
			want := d.play(t, servers, whole, false)
			if n := len(want.History); want.Stopped == "" || !want.History[n-1].End || want.History[n-2].Epoch != 2 {
				t.Fatalf("it ends by %q behind %+v: this shows nothing", want.Stopped, want.History)
			}
			d.At = len(want.History) - 1 // the evaluation that ends the job
			d.Step = d.At
			d.play(t, servers, dir, true)
			got := d.play(t, servers, dir, false)
			partly := cmpopts.IgnoreMapEntries(func(name string, _ float64) bool { return strings.HasPrefix(name, "train ") })
			if diff := cmpdiff.Diff(want, got, partly); diff != "" {
				t.Errorf("%d servers, %d workers: %s", servers, workers, diff)
			}
		}
	}
}

// TestAveragesAsUndisturbed: a job in step whose model has moving averages and dropout is ended in the middle of an epoch, where no worker
// has another's averages, and goes on as one that was not disturbed.
func TestAveragesAsUndisturbed(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, d := range []drawn{
		{Servers: 0, Workers: 2, Again: 0, Rows: 121, Every: 0},
		{Servers: 0, Workers: 3, Again: 0, Rows: 160, Every: 4, Sharded: true},
		{Servers: 1, Workers: 2, Again: 1, Rows: 150, Every: 3, Bloats: true},
		{Servers: 2, Workers: 3, Again: 2, Rows: 181, Every: 0},
		{Servers: 1, Workers: 1, Again: 1, Rows: 60, Every: 0},
		{Servers: 0, Workers: 1, Again: 0, Rows: 60, Every: 3},
	} {
		t.Run(fmt.Sprint(d.Servers, d.Workers), func(t *testing.T) {
			d.Mode, d.Batch, d.Epochs, d.Patience, d.Lower, d.Epoch, d.Norm, d.Ended = "sync", 7, 4, 9, 2, 1, true, true
			whole := d.play(t, d.Servers, t.TempDir(), false)
			dir := t.TempDir()
			for _, d.Step = range []int{2, 5} { // the second start is ended too
				d.play(t, d.Servers, dir, true)
			}
			again := d.play(t, d.Again, dir, false)
			partly := cmpopts.IgnoreMapEntries(func(name string, _ float64) bool { return strings.HasPrefix(name, "train ") })
			if diff := cmpdiff.Diff(whole, again, partly); diff != "" {
				t.Errorf("%+v: %s", d, diff)
			}
		})
	}
}

// TestEndedInAnEvaluation: a job whose context ends while test rows are read, which takes long, has saved a checkpoint soon after, and goes on
// as one that was not disturbed: the evaluation is made again.
func TestEndedInAnEvaluation(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range [][2]int{{0, 1}, {0, 2}, {1, 2}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			play := func(dir string, ends time.Duration) (history []train.Evaluation, took time.Duration) {
				synctest.Test(t, func(t *testing.T) {
					whole, end := context.WithCancel(t.Context())
					defer end()
					var began time.Time
					var slow atomic.Bool
					errs := trial.Cluster(size[0], size[1]).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						ctx, cancel := context.WithCancel(ctx)
						defer context.AfterFunc(whole, cancel)()
						j := job(train.Options{Mode: "sync", Epochs: 2, Batch: 10, EvalEvery: 2, Checkpoint: dir})
						j.Stdout = io.Discard
						j.Data = func(context.Context) (rows, test *dataset.Dataset, err error) {
							fill := func(i int, row dataset.Row) error {
								if slow.Load() {
									time.Sleep(20 * time.Millisecond)
								}
								row.Floats(0)[0], row.Floats(1)[0] = float32(i%20)/10-0.95, float32(i%20/10)
								return nil
							}
							return points(60), dataset.Generate(2000, fill, dataset.Floats("x", 1), dataset.Floats("y", 1)), nil
						}
						j.Hooks = []train.Hooks{{Begin: func(_ context.Context, r *train.Run) error { // the job has looked at its rows
							if slow.Store(true); r.Leads() && ends > 0 {
								time.AfterFunc(ends, func() { began = time.Now(); end() })
							}
							return nil
						}}}
						res, err := j.Run(ctx, f)
						if f.IsFirstWorker() {
							history, took = res.History, time.Since(began)
						}
						return err
					})
					for role, err := range errs {
						if ends == 0 && err != nil {
							t.Errorf("%s: %v", role, err)
						}
					}
				})
				return history, took
			}
			want, _ := play(t.TempDir(), 0)
			dir := t.TempDir()
			if _, took := play(dir, 10*time.Second); took > 20*time.Second {
				t.Errorf("the job ends %v after it is asked to", took)
			}
			got, _ := play(dir, 0)
			partly := cmpopts.IgnoreMapEntries(func(name string, _ float64) bool { return strings.HasPrefix(name, "train ") })
			if diff := cmpdiff.Diff(want, got, partly); diff != "" || len(want) < 4 {
				t.Errorf("%d evaluations: %s", len(want), diff)
			}
		})
	}
}
