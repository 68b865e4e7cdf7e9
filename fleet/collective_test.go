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
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// everywhere trains the toy and returns what each worker's own copy of the weights is in the end.
func everywhere(t *testing.T, c fleettest.Cluster, rule optimizer.Rule) [][]byte {
	t.Helper()
	dir := t.TempDir()
	at := func(f *fleet.Fleet) string { return filepath.Join(dir, strconv.Itoa(f.WorkerIndex())) }
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		return train(ctx, f, rule, strategy.Strategy{}, lawSteps, func(o *toy) error { return f.SaveInferenceModel(ctx, at(f), o) })
	})
	models := make([][]byte, c.Workers)
	for i := range models {
		models[i] = read(t, filepath.Join(dir, strconv.Itoa(i), "weights.safetensors"))
	}
	return models
}

// TestCollectiveEqualsJoinedBatch: workers without servers train as one process does on their joined batch, as workers with
// servers do to the last bit, and all have the same weights, whatever carries the messages.
func TestCollectiveEqualsJoinedBatch(t *testing.T) {
	rules := laws()
	rules["clipped"] = optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.5}
	for name, rule := range rules {
		t.Run(name, func(t *testing.T) {
			alone := run{}.weights(t, rule)
			models := everywhere(t, fleettest.Cluster{Workers: 3}, rule)
			overTCP := everywhere(t, fleettest.Cluster{Workers: 3, Endpoints: freePorts(t, 3),
				Options: fleet.Options{Transport: &transport.FastHTTP{}}}, rule)
			for i := range models {
				if !bytes.Equal(models[0], models[i]) || !bytes.Equal(models[0], overTCP[i]) {
					t.Errorf("worker %d has other weights than worker 0", i)
				}
			}
			if far := distance(t, alone, models[0]); far > 1e-5 {
				t.Errorf("three workers are %g away from one process", far)
			}
			if name == "clipped" {
				return // servers sum squares exactly, a process in float64
			}
			if far := distance(t, run{servers: 2, workers: 3, strategy: strategy.Sync()}.weights(t, rule), models[0]); far != 0 {
				t.Errorf("with servers the weights are %g away", far)
			}
		})
	}
}

// TestCollectiveUneven: batches of different sizes count by their samples, and a worker that has fewer of them takes part in the
// others' steps with nothing of its own.
func TestCollectiveUneven(t *testing.T) {
	sizes, steps := []int{2, 7, 4}, []int{6, 3, 9} // by worker
	cut := func(worker, step int) []sample { return samples(100, step)[10*worker : 10*worker+sizes[worker]] }
	program := func(dir string, batches func(f *fleet.Fleet, step int) []sample) fleettest.Program {
		return func(ctx context.Context, f *fleet.Fleet) error {
			o, err := minimized(f, optimizer.Adagrad{LR: 0.1})
			if err != nil {
				return err
			}
			if err := f.InitWorker(ctx); err != nil {
				return err
			}
			for epoch := range 2 {
				for step := range 9 {
					if batch := batches(f, 9*epoch+step); len(batch) > 0 {
						if err := o.train(ctx, batch, nil); err != nil {
							return err
						}
					}
				}
				if err := o.trainer.EndEpoch(ctx); err != nil {
					return err
				}
			}
			if err := f.SaveInferenceModel(ctx, filepath.Join(dir, strconv.Itoa(f.WorkerIndex())), o); err != nil {
				return err
			}
			return f.StopWorker(ctx)
		}
	}
	together, alone := t.TempDir(), t.TempDir()
	fleettest.Run(t, 0, 3, program(together, func(f *fleet.Fleet, step int) []sample {
		if step%9 >= steps[f.WorkerIndex()] {
			return nil
		}
		return cut(f.WorkerIndex(), step)
	}))
	fleettest.Run(t, 0, 1, program(alone, func(_ *fleet.Fleet, step int) (joined []sample) {
		for w := range sizes {
			if step%9 < steps[w] {
				joined = append(joined, cut(w, step)...)
			}
		}
		return joined
	}))
	want := read(t, filepath.Join(alone, "0", "weights.safetensors"))
	for w := range sizes {
		if far := distance(t, want, read(t, filepath.Join(together, strconv.Itoa(w), "weights.safetensors"))); far > 1e-5 {
			t.Errorf("worker %d is %g away from the joined batches", w, far)
		}
	}
}

// minimized is a toy with its fleet's trainer, in the only mode there is.
func minimized(f *fleet.Fleet, rule optimizer.Rule) (*toy, error) {
	o := newToy()
	opt, err := f.DistributedOptimizer(rule, strategy.Strategy{})
	if err == nil {
		err = opt.Minimize(o)
	}
	return o, err
}

// TestCollectiveGoesOn: a job that every worker loads from the checkpoint of worker 0 goes on as if it had not stopped.
func TestCollectiveGoesOn(t *testing.T) {
	dir := t.TempDir()
	rule := optimizer.Adam{LR: 0.01}
	program := func(load, save bool, from, to int) fleettest.Program {
		return func(ctx context.Context, f *fleet.Fleet) error {
			o, err := minimized(f, rule)
			if err != nil {
				return err
			}
			if load {
				if err := f.LoadModel(ctx, filepath.Join(dir, "half")); err != nil {
					return err
				}
			}
			if err := f.InitWorker(ctx); err != nil {
				return err
			}
			for i := from; i < to; i++ {
				n := 24 / f.WorkerNum()
				if err := o.train(ctx, samples(24, i)[f.WorkerIndex()*n:][:n], nil); err != nil {
					return err
				}
			}
			if save {
				err = f.SavePersistables(ctx, filepath.Join(dir, "half"))
			} else if f.IsFirstWorker() {
				err = f.SaveInferenceModel(ctx, dir, o)
			}
			if err != nil {
				return err
			}
			return f.StopWorker(ctx)
		}
	}
	fleettest.Run(t, 0, 3, program(false, true, 0, 5))
	fleettest.Run(t, 0, 3, program(true, false, 5, 10))
	resumed := read(t, filepath.Join(dir, "weights.safetensors"))
	fleettest.Run(t, 0, 3, program(false, false, 0, 10))
	if far := distance(t, read(t, filepath.Join(dir, "weights.safetensors")), resumed); far != 0 {
		t.Errorf("a job that went on from its checkpoint is %g away from one that did not stop", far)
	}
}

func TestCollectiveRefuses(t *testing.T) {
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
			_, err := minimized(f, optimizer.SGD{})
			return errors.Join(err, f.StopWorker(ctx))
		},
		"rule dpsgd of \"w\" draws lots": func(_ context.Context, f *fleet.Fleet) error {
			_, err := minimized(f, optimizer.ClipByValue{Rule: optimizer.DPSGD{}, Min: -1, Max: 1})
			return err
		},
		"MaxBytes": func(_ context.Context, f *fleet.Fleet) error {
			o := newToy()
			o.open.MaxBytes = 1 << 20
			opt, err := f.DistributedOptimizer(optimizer.SGD{}, strategy.Strategy{})
			return errors.Join(err, opt.Minimize(o))
		},
		"builds another job: worker ": func(ctx context.Context, f *fleet.Fleet) error {
			_, err := minimized(f, optimizer.SGD{LR: float64(1 + f.WorkerIndex())})
			return errors.Join(err, f.InitWorker(ctx))
		},
	}
	for want, call := range calls {
		for role, err := range (fleettest.Cluster{Workers: 2}).Errors(t, call) {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", role, err, want)
			}
		}
	}
}

// TestCollectiveClose: a worker that gives up says so to the others, and all goroutines have ended.
func TestCollectiveClose(t *testing.T) {
	fleettest.Run(t, 0, 2, func(ctx context.Context, f *fleet.Fleet) error {
		o, err := minimized(f, optimizer.SGD{LR: 1})
		if err != nil {
			return err
		}
		defer f.Close()
		err = f.InitWorker(ctx)
		if f.WorkerIndex() == 1 {
			return err
		}
		if err == nil { // it may hear of the end before it has begun
			err = o.train(ctx, samples(4, 1), nil)
		}
		if err == nil || !strings.Contains(err.Error(), "closed before StopWorker") {
			t.Errorf("the other worker's step: %v", err)
		}
		return nil
	})
}

// TestCollectiveNotFinite: a gradient that is no number ends the step on every worker before anybody's weights have changed.
func TestCollectiveNotFinite(t *testing.T) {
	errs := fleettest.Cluster{Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		o, err := minimized(f, optimizer.SGD{LR: 1})
		if err != nil {
			return err
		}
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		batch := samples(4, 1)
		if f.WorkerIndex() == 1 {
			batch[0].x = float32(math.NaN())
		}
		return errors.Join(o.train(ctx, batch, nil), f.StopWorker(ctx))
	})
	for role, err := range errs {
		if err == nil || !strings.Contains(err.Error(), `worker 1: the gradient of`) {
			t.Errorf("%s: %v", role, err)
		}
	}
}

// everyRule are the rules that laws leaves out.
func everyRule() map[string]optimizer.Rule {
	return map[string]optimizer.Rule{
		"Momentum": optimizer.Momentum{LR: 0.01, Nesterov: true}, "AdamW": optimizer.AdamW{LR: 0.01}, "Adamax": optimizer.Adamax{LR: 0.01},
		"DecayedAdagrad": optimizer.DecayedAdagrad{LR: 0.01}, "Adadelta": optimizer.Adadelta{LR: 1}, "RMSProp": optimizer.RMSProp{LR: 0.001},
		"Ftrl": optimizer.Ftrl{LR: 0.01}, "Lamb": optimizer.Lamb{LR: 0.01}, "Lars": optimizer.Lars{LR: 0.1},
	}
}

// TestCollectiveEveryRule: rules whose norms are of whole variables too, since every worker has them whole.
func TestCollectiveEveryRule(t *testing.T) {
	for name, rule := range everyRule() {
		t.Run(name, func(t *testing.T) {
			alone := run{}.weights(t, rule)
			models := everywhere(t, fleettest.Cluster{Workers: 3}, rule)
			if !bytes.Equal(models[0], models[1]) || !bytes.Equal(models[0], models[2]) {
				t.Error("workers have different weights")
			}
			if far := apart(t, alone, models[0]); far > 1e-5 {
				t.Errorf("three workers are %g away from one process, as a part of the weights' norm", far)
			}
		})
	}
}

// apart is the norm of two models' difference as a part of the first one's norm.
func apart(t *testing.T, a, b []byte) float64 {
	var difference, norm float64
	for _, name := range []string{"w", "b", "big", "emb", "open"} {
		x, y := tensor[float32](t, a, name), tensor[float32](t, b, name)
		for i := range x {
			d := float64(x[i]) - float64(y[i])
			difference, norm = difference+d*d, norm+float64(x[i])*float64(x[i])
		}
	}
	return math.Sqrt(difference / norm)
}
