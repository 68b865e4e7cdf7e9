package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// everywhere trains the toy and returns what each worker's own copy of the weights is in the end.
func everywhere(t *testing.T, c fleettest.Cluster, rule optimizer.Rule) [][]byte {
	t.Helper()
	dir := t.TempDir()
	at := func(worker int) string { return filepath.Join(dir, strconv.Itoa(worker)) }
	x := lawful(rule, strategy.Strategy{})
	x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
		return f.SaveInferenceModel(ctx, at(f.WorkerIndex()), o)
	}
	x.On(t, c)
	models := make([][]byte, c.Workers)
	for i := range models {
		models[i] = trial.Weights(t, at(i))
	}
	return models
}

// TestCollectiveEqualsJoinedBatch: workers without servers train as one process does on their joined batch, as workers with
// servers do to the last bit, and all have the same weights, whatever carries the messages.
//
// Promise: [G2] workers without servers come to the same bits
func TestCollectiveEqualsJoinedBatch(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	rules := trial.Rules()
	rules["clipped"] = optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.5}
	for name, rule := range trial.SomeOf(t, rules) {
		t.Run(name, func(t *testing.T) {
			alone := lawful(rule, strategy.Strategy{}).Weights(t, trial.Cluster(0, 0))
			models := everywhere(t, trial.Cluster(0, 3), rule)
			overTCP := everywhere(t, fleettest.Cluster{Workers: 3, Endpoints: porttest.Free(t, 3),
				Options: fleet.Options{Transport: &transport.FastHTTP{}}}, rule)
			for i := range models {
				if !bytes.Equal(models[0], models[i]) || !bytes.Equal(models[0], overTCP[i]) {
					t.Errorf("worker %d has other weights than worker 0", i)
				}
			}
			if far := trial.Distance(t, alone, models[0]); far > 1e-5 {
				t.Errorf("three workers are %g away from one process", far)
			}
			if name == "clipped" {
				return // servers sum squares exactly, a process in float64
			}
			if far := trial.Distance(t, lawful(rule, strategy.Sync()).Weights(t, trial.Cluster(2, 3)), models[0]); far != 0 {
				t.Errorf("with servers the weights are %g away", far)
			}
		})
	}
}

// TestCollectiveUneven: batches of different sizes count by their samples, and a worker that has fewer of them takes part in the
// others' steps with nothing of its own.
func TestCollectiveUneven(t *testing.T) {
	t.Parallel()
	sizes, steps := []int{2, 7, 4}, []int{6, 3, 9} // by worker
	cut := func(worker, step int) []trial.Sample {
		return trial.Samples(100, step)[10*worker : 10*worker+sizes[worker]]
	}
	program := func(dir string, batches func(f *fleet.Fleet, step int) []trial.Sample) fleettest.Program {
		return func(ctx context.Context, f *fleet.Fleet) error {
			o := trial.NewToy()
			return trial.Play(ctx, f, o, optimizer.Adagrad{LR: 0.1}, strategy.Strategy{}, func() error {
				for epoch := range 2 {
					for step := range 9 {
						if batch := batches(f, 9*epoch+step); len(batch) > 0 {
							if err := o.Train(ctx, batch, nil); err != nil {
								return err
							}
						}
					}
					if err := o.Trainer.EndEpoch(ctx); err != nil {
						return err
					}
				}
				return f.SaveInferenceModel(ctx, filepath.Join(dir, strconv.Itoa(f.WorkerIndex())), o)
			})
		}
	}
	together, alone := t.TempDir(), t.TempDir()
	fleettest.Run(t, 0, 3, program(together, func(f *fleet.Fleet, step int) []trial.Sample {
		if step%9 >= steps[f.WorkerIndex()] {
			return nil
		}
		return cut(f.WorkerIndex(), step)
	}))
	fleettest.Run(t, 0, 1, program(alone, func(_ *fleet.Fleet, step int) (joined []trial.Sample) {
		for w := range sizes {
			if step%9 < steps[w] {
				joined = append(joined, cut(w, step)...)
			}
		}
		return joined
	}))
	want := trial.Weights(t, filepath.Join(alone, "0"))
	for w := range sizes {
		if far := trial.Distance(t, want, trial.Weights(t, filepath.Join(together, strconv.Itoa(w)))); far > 1e-5 {
			t.Errorf("worker %d is %g away from the joined batches", w, far)
		}
	}
}

// TestCollectiveGoesOn: a job that every worker loads from the checkpoint of worker 0 goes on as if it had not stopped.
func TestCollectiveGoesOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	c, half := trial.Cluster(0, 3), t.TempDir()
	trial.Training{To: 5, Save: half}.On(t, c)
	resumed := trial.Training{From: 5, To: 10, Load: half}.Weights(t, c)
	if far := trial.Distance(t, trial.Training{To: 10}.Weights(t, c), resumed); far != 0 {
		t.Errorf("a job that went on from its checkpoint is %g away from one that did not stop", far)
	}
}

func TestCollectiveRefuses(t *testing.T) {
	t.Parallel()
	calls := map[string]func(ctx context.Context, f *fleet.Fleet) error{
		"in a job of 0 servers; its calls are InitWorker and StopWorker": func(ctx context.Context, f *fleet.Fleet) error { return f.InitServer(ctx, "") },
		"RunServer: this is worker":                                      func(ctx context.Context, f *fleet.Fleet) error { return f.RunServer(ctx) },
		"mode async needs servers": func(_ context.Context, f *fleet.Fleet) error {
			_, err := f.DistributedOptimizer(optimizer.SGD{}, strategy.Async())
			return err
		},
		"payload int8 is for jobs with servers": func(_ context.Context, f *fleet.Fleet) error {
			_, err := f.DistributedOptimizer(optimizer.SGD{}, strategy.Strategy{Payload: strategy.PayloadInt8})
			return err
		},
		"placement Balanced is for jobs with servers": func(_ context.Context, f *fleet.Fleet) error {
			_, err := f.DistributedOptimizer(optimizer.SGD{}, strategy.Strategy{Placement: "Balanced"})
			return err
		},
		"StopWorker: call InitWorker first": func(ctx context.Context, f *fleet.Fleet) error {
			return errors.Join(minimized(f, optimizer.SGD{}), f.StopWorker(ctx))
		},
		"rule dpsgd of \"w\" draws lots": func(_ context.Context, f *fleet.Fleet) error {
			return minimized(f, optimizer.ClipByValue{Rule: optimizer.DPSGD{}, Min: -1, Max: 1})
		},
		"MaxBytes": func(_ context.Context, f *fleet.Fleet) error {
			o := trial.NewToy()
			o.Open.MaxBytes = 1 << 20
			return trial.Minimize(f, o, optimizer.SGD{}, strategy.Strategy{})
		},
		"builds another job: worker ": func(ctx context.Context, f *fleet.Fleet) error {
			return errors.Join(minimized(f, optimizer.SGD{LR: float64(1 + f.WorkerIndex())}), f.InitWorker(ctx))
		},
	}
	for want, call := range calls {
		trial.Refused(t, trial.Cluster(0, 2), want, call)
	}
}

// minimized has the fleet's trainer train a toy that nobody looks at.
func minimized(f *fleet.Fleet, rule optimizer.Rule) error {
	return trial.Minimize(f, trial.NewToy(), rule, strategy.Strategy{})
}

// TestCollectiveClose: a worker that gives up says so to the others, and all goroutines have ended.
func TestCollectiveClose(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, 0, 2, func(ctx context.Context, f *fleet.Fleet) error {
		o := trial.NewToy()
		defer f.Close()
		worker, err := trial.Join(ctx, f, o, optimizer.SGD{LR: 1}, strategy.Strategy{})
		if f.WorkerIndex() == 1 {
			return err
		}
		if worker { // it may hear of the end before it has begun
			err = o.Train(ctx, trial.Samples(4, 1), nil)
		}
		if err == nil || !strings.Contains(err.Error(), "closed before StopWorker") {
			t.Errorf("the other worker's step: %v", err)
		}
		return nil
	})
}

// TestCollectiveNotFinite: a gradient that is no number ends the step on every worker before anybody's weights have changed.
func TestCollectiveNotFinite(t *testing.T) {
	t.Parallel()
	trial.Refused(t, trial.Cluster(0, 2), `worker 1: the gradient of`, func(ctx context.Context, f *fleet.Fleet) error {
		o := trial.NewToy()
		return trial.Play(ctx, f, o, optimizer.SGD{LR: 1}, strategy.Strategy{}, func() error {
			batch := trial.Samples(4, 1)
			if f.WorkerIndex() == 1 {
				batch[0].X = float32(math.NaN())
			}
			return o.Train(ctx, batch, nil)
		})
	})
}

// TestCollectiveEveryRule: rules whose norms are of whole variables too, since every worker has them whole.
func TestCollectiveEveryRule(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, rule := range trial.SomeOf(t, trial.OtherRules()) {
		t.Run(name, func(t *testing.T) {
			alone := lawful(rule, strategy.Strategy{}).Weights(t, trial.Cluster(0, 0))
			models := everywhere(t, trial.Cluster(0, 3), rule)
			if !bytes.Equal(models[0], models[1]) || !bytes.Equal(models[0], models[2]) {
				t.Error("workers have different weights")
			}
			if far := trial.Apart(t, alone, models[0]); far > 1e-5 {
				t.Errorf("three workers are %g away from one process, as a part of the weights' norm", far)
			}
		})
	}
}
