package train_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/strategy"
)

// TestOneModelAtAnEpochsEnd: what an epoch's end evaluates is what a hook saves there, on every kind of job, and the last is what the job
// leaves.
func TestOneModelAtAnEpochsEnd(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type size struct{ servers, workers int }
	for _, c := range trial.Some(t, []size{{0, 1}, {0, 2}, {1, 2}, {2, 3}}) {
		modes := strategy.Modes()
		if c.servers == 0 {
			modes = []strategy.Mode{""}
		}
		for i := range 2 * len(modes) {
			mode, norm := modes[i/2], i%2 == 1
			t.Run(fmt.Sprintf("%d servers, %d workers, %s, batch norm %t", c.servers, c.workers, mode, norm), func(t *testing.T) {
				dir := t.TempDir()
				saved := func(epoch int) string { return filepath.Join(dir, fmt.Sprint(epoch)) }
				hook := train.Hooks{EpochEnd: func(ctx context.Context, r *train.Run, _ nn.TrainResult) error {
					if !r.Leads() {
						return nil
					}
					return r.Fleet.SaveInferenceModel(ctx, saved(r.Epoch), nn.Inference(r.Job.Outputs...))
				}}
				var mu sync.Mutex
				results, _ := play(t, c.servers, c.workers, func() train.Job {
					mu.Lock()
					defer mu.Unlock()
					j := job(train.Options{Mode: string(mode), Epochs: 3, Batch: 7, Out: dir})
					if norm {
						net := newSigns(true)
						j.Loss, j.Metrics, j.Outputs = net.loss, []*nn.Node{net.auc}, []*nn.Node{net.pred}
					}
					if mode == strategy.ModeGeo {
						j.Strategy = &strategy.Strategy{Mode: mode, KSteps: 3}
					}
					j.Data = data(61, 100)
					j.Hooks = append(j.Hooks, hook)
					return j
				})
				score := func(model string) float64 {
					m, err := serve.Load(model)
					if err != nil {
						t.Fatal(err)
					}
					return logLoss(t, m)
				}
				for _, e := range results[0].History {
					if e.End {
						if got := score(saved(e.Epoch - 1)); math.Abs(got-e.Values[train.EvalLoss]) > 1e-5 {
							t.Errorf("epoch %d: the loss is %v, that of the model which its end saved %v", e.Epoch, e.Values[train.EvalLoss], got)
						}
					}
				}
				if last, left := score(saved(2)), score(filepath.Join(dir, "model")); last != left {
					t.Errorf("the last epoch's end saved a model of loss %v, the job leaves one of %v", last, left)
				}
			})
		}
	}
}

// TestOneModelInTheMiddleOfAnEpoch: what an evaluation between two steps measures is what a hook saves there, with the averages of batch
// norm, whatever number of threads trains.
func TestOneModelInTheMiddleOfAnEpoch(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		for _, k := range []struct{ servers, workers, threads int }{{1, 1, 4}, {1, 3, 3}, {0, 1, 4}, {0, 3, 1}, {1, 2, 1}} {
			lockstep := mode == strategy.ModeSync || mode == strategy.ModeSSP
			if k.servers > 0 && k.threads > 1 && lockstep || k.servers == 0 && k.workers > 1 && mode != strategy.ModeSync {
				continue // no such jobs
			}
			dir := t.TempDir()
			saved := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
			results, _ := play(t, k.servers, k.workers, func() train.Job {
				j := job(train.Options{Mode: string(mode), Epochs: 1, Batch: 7, EvalEvery: 2, Threads: k.threads})
				net := newSigns(true)
				j.Loss, j.Metrics, j.Outputs = net.loss, []*nn.Node{net.auc}, []*nn.Node{net.pred}
				j.Hooks = []train.Hooks{{Evaluated: func(ctx context.Context, r *train.Run, _ train.Evaluation) error {
					if !r.Leads() {
						return nil
					}
					return r.Fleet.SaveInferenceModel(ctx, saved(len(r.History)), nn.Inference(r.Job.Outputs...))
				}}}
				return j
			})
			h := results[0].History
			for i, e := range h {
				if got := mustLoss(t, saved(i+1)); math.Abs(got-e.Value(nil)) > 1e-5 {
					t.Errorf("%s, %+v: evaluation %d of %d measured a loss of %v, its model has %v", mode, k, i+1, len(h), e.Value(nil), got)
				}
			}
			if len(h) < 5 {
				t.Errorf("%s, %+v: %d evaluations show nothing", mode, k, len(h))
			}
		}
	}
}

// TestAHookMeasuresWhatItSaves: a hook behind a step has the other threads still, and what is on its way arrive, before it evaluates by an
// executor of its own and saves: both are of one model.
func TestAHookMeasuresWhatItSaves(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, strategy.Modes()) {
		for _, k := range []struct{ servers, threads int }{{0, 3}, {2, 1}, {2, 3}} {
			if k.threads > 1 && k.servers > 0 && (mode == strategy.ModeSync || mode == strategy.ModeSSP) {
				continue // no such jobs
			}
			dir := t.TempDir()
			saved := func(n int) string { return filepath.Join(dir, fmt.Sprint(n)) }
			var measured []float64
			play(t, k.servers, 1, func() train.Job {
				j := job(train.Options{Mode: string(mode), Epochs: 1, Batch: 7, Threads: k.threads})
				net := newSigns(true)
				j.Loss, j.Metrics, j.Outputs = net.loss, nil, []*nn.Node{net.pred}
				if mode == strategy.ModeAsync {
					j.Strategy = &strategy.Strategy{Mode: mode, SendQueueSize: 8, MaxMergeVarNum: 4, SendWaitTimes: 2}
				}
				j.Hooks = []train.Hooks{{Step: func(ctx context.Context, r *train.Run, so nn.TrainResult) error {
					if so.Steps%5 != 2 {
						return nil
					}
					if mode != strategy.ModeHalfAsync || k.servers == 0 {
						defer so.Still()()
					}
					if err := r.Fleet.BarrierWorker(ctx); err != nil {
						return err
					}
					exe := nn.NewExecutor(r.Job.Loss.Graph())
					for batch, err := range points(100).Batches(100) {
						if err != nil {
							return err
						}
						loss, err := exe.Eval(ctx, batch, r.Job.Loss)
						if err != nil {
							return err
						}
						measured = append(measured, nn.Scalar(loss[0]))
					}
					return errors.Join(exe.Close(ctx), r.Fleet.SaveInferenceModel(ctx, saved(len(measured)), nn.Inference(r.Job.Outputs...)))
				}}}
				return j
			})
			for i, loss := range measured {
				if got := mustLoss(t, saved(i+1)); math.Abs(got-loss) > 1e-5 {
					t.Errorf("%s, %+v: a hook measured a loss of %v, the model that it saved has %v", mode, k, loss, got)
				}
			}
			if len(measured) < 5 {
				t.Errorf("%s, %+v: %d evaluations show nothing", mode, k, len(measured))
			}
		}
	}
}

// TestGeoRestKeepWarns: where workers of mode geo keep changes, a job says that it evaluates other weights than it saves, and else not.
func TestGeoRestKeepWarns(t *testing.T) {
	// Serial: it takes over the process's log.
	defer slog.SetDefault(slog.Default())
	for _, c := range []struct {
		rest    strategy.GeoRest
		workers int
		want    bool
	}{{strategy.GeoRestKeep, 2, true}, {strategy.GeoRestKeep, 1, false}, {strategy.GeoRestSend, 2, false}} {
		var log trial.Log
		slog.SetDefault(log.Logger())
		play(t, 1, c.workers, func() train.Job {
			j := job(train.Options{Epochs: 1, Batch: 7})
			j.Strategy, j.Data = &strategy.Strategy{Mode: strategy.ModeGeo, KSteps: 3, GeoRest: c.rest}, data(61, 100)
			return j
		})
		if said := log.Lines("not those of the model that is saved"); len(said) > 1 || c.want != (len(said) == 1) {
			t.Errorf("geo_rest %s, %d workers: the log says %q", c.rest, c.workers, said)
		}
	}
}
