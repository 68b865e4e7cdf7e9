package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// masked is a job that drops half of what it is fed, and goes on from the checkpoints of a directory.
type masked struct {
	fleettest.Cluster
	strategy strategy.Strategy
	dir      string
	threads  int // 0 for a loop without
	epochs   int // at which it ends

	mu    sync.Mutex
	masks []string // of all steps
	model []byte
}

// maskedRows are 8 batches of 2 for each of 12 shares.
func maskedRows() *dataset.Dataset {
	x, y := make([]float32, 64*192), make([]float32, 192)
	for i := range x {
		x[i] = 1 + float32(i%5)/8
	}
	for i := range y {
		y[i] = float32(i % 3)
	}
	return dataset.FromColumns(dataset.FloatValues("x", x, 64), dataset.FloatValues("y", y, 1))
}

func (m *masked) run(t *testing.T) *masked {
	t.Helper()
	model := t.TempDir()
	m.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		mask := nn.Dropout(g.Input("x", 64), 0.5)
		y := nn.Linear(mask, 1, nn.LinearOptions{})
		s := m.strategy
		s.Recovery = strategy.Recovery{Dir: m.dir}
		return trial.Play(ctx, f, nn.Mean(nn.SquareError(y, g.Input("y", 1))), optimizer.Adam{LR: 0.01}, s,
			func() error {
				for epoch := f.Progress().Epoch; epoch < m.epochs; epoch++ {
					if err := m.train(ctx, f, mask); err != nil {
						return err
					}
					if err := errors.Join(f.BarrierWorker(ctx), f.SetProgress(fleet.Progress{Epoch: epoch + 1})); err != nil {
						return err
					}
				}
				if err := errors.Join(f.BarrierWorker(ctx), f.Checkpoint(ctx)); err != nil || !f.IsFirstWorker() {
					return err
				}
				return f.SaveInferenceModel(ctx, model, nn.Inference(y))
			})
	})
	m.model = trial.Weights(t, model)
	return m
}

// train trains an epoch.
func (m *masked) train(ctx context.Context, f *fleet.Fleet, mask *nn.Node) error {
	o := nn.TrainOptions{Fetch: []*nn.Node{mask}, Step: func(_ context.Context, so nn.TrainResult) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		kept := make([]bool, 128)
		for i, v := range so.Last()[0].Float32s() {
			kept[i] = v != 0
		}
		m.masks = append(m.masks, fmt.Sprint(kept))
		return nil
	}}
	rows := maskedRows().Shard(f.WorkerIndex(), f.WorkerNum())
	if m.threads == 0 {
		exe := nn.NewExecutor(mask.Graph()) // another in each epoch
		_, err := exe.TrainFrom(ctx, rows.Batches(2), o)
		return errors.Join(err, exe.Close(ctx))
	}
	_, err := nn.TrainThreads(ctx, mask.Graph(), m.threads, func(thread int) iter.Seq2[dataset.Batch, error] {
		return rows.Shard(thread, m.threads).Batches(2)
	}, o)
	return err
}

// distinct is how many steps were made, and in how many ways they have dropped.
func (m *masked) distinct() (steps, ways int) {
	all := slices.Sorted(slices.Values(m.masks))
	return len(all), len(slices.Compact(all))
}

// TestNoTwoStepsDropAlike: the steps of all epochs, workers and threads, and those of a job that is started again, also with other numbers
// of servers, workers and threads.
//
// Promise: [G6] no two steps of a job drop alike, over its epochs, workers, threads and restarts, nor those of a job
// that begins from its named checkpoint; resumed equals never stopped with dropout too
// Also: TestTwoExecutorsDropOn, TestWhatIsRestoredDropsOn, TestDroppedOnAnyServers, TestEachSampleOnce, TestSteps
// (internal/progress), TestTurns (nn)
func TestNoTwoStepsDropAlike(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		if job.Strategy.Mode == strategy.ModeGeo {
			continue // of SGD alone; TestEachSampleOnce has it
		}
		first := &masked{Cluster: job.Cluster, strategy: job.Strategy, dir: t.TempDir(), epochs: 2}
		if name == "async" || name == "alone" || name == "half_async" {
			first.threads = 2
		}
		first.run(t)
		others := job.Cluster
		others.Workers = 3
		again := (&masked{Cluster: others, strategy: job.Strategy, dir: first.dir, epochs: 3,
			masks: first.masks}).run(t)
		if steps, ways := again.distinct(); steps != 3*96 || ways != steps {
			t.Errorf("%s: %d steps have dropped in %d ways", name, steps, ways)
		}
	}
}

// TestWhatIsRestoredDropsOn: a job that begins from what another has saved by name goes on with its steps, worker by worker, through
// Restore, LoadModel, also of running servers, and InitServer, in every kind of job; and one that takes weights alone begins anew.
func TestWhatIsRestoredDropsOn(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			first := restoredMasks(t, job, dir, func(ctx context.Context, f *fleet.Fleet) error {
				if f.IsServer() {
					return f.InitServer(ctx, "")
				}
				return nil
			})
			for how, begin := range map[string]func(context.Context, *fleet.Fleet) error{
				"Restore": func(ctx context.Context, f *fleet.Fleet) error {
					return f.Restore(ctx, dir,
						fleet.RestoreOptions{})
				},
				"LoadModel": func(ctx context.Context, f *fleet.Fleet) error {
					switch {
					case f.IsServer():
						return errors.Join(f.InitServer(ctx, ""), f.InitServer(ctx, dir))
					case f.ServerNum() > 0:
						return nil
					}
					return f.LoadModel(ctx, dir)
				},
				"InitServer": func(ctx context.Context, f *fleet.Fleet) error {
					if f.IsServer() {
						return f.InitServer(ctx, dir)
					}
					return nil
				},
				"running": func(ctx context.Context, f *fleet.Fleet) error {
					if f.IsServer() {
						return f.InitServer(ctx, "")
					}
					err := f.InitWorker(ctx)
					if err == nil && f.IsFirstWorker() {
						err = f.LoadModel(ctx, dir)
					}
					return errors.Join(err, f.BarrierWorker(ctx))
				},
			} {
				if how == "InitServer" && job.Cluster.Servers == 0 || how == "running" && name == "collective" {
					continue
				}
				for worker, masks := range restoredMasks(t, job, "", begin) {
					for _, mask := range masks {
						if slices.Contains(first[worker], mask) {
							t.Errorf("%s: a step of worker %d drops what one before the checkpoint did", how, worker)
						}
					}
				}
			}
			weights := func(ctx context.Context, f *fleet.Fleet) error {
				return f.Restore(ctx, dir, fleet.RestoreOptions{WeightsOnly: true})
			}
			if anew := restoredMasks(t, job, "", weights); !slices.Equal(anew[0][:1], first[0][:1]) {
				t.Error("a job that takes weights alone goes on with the steps of the one before")
			}
		})
	}
}

// restoredMasks are what the steps of a job's workers drop, by worker: as many as the worker's number and three. It may save in the end.
func restoredMasks(t *testing.T, job trial.Job, to string, begin func(context.Context, *fleet.Fleet) error) [][]string {
	t.Helper()
	masks := make([][]string, job.Cluster.Workers)
	job.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		mask := nn.Dropout(g.Input("x", 64), 0.5)
		loss := nn.Mean(nn.Linear(mask, 1, nn.LinearOptions{}))
		if err := trial.Minimize(f, loss, optimizer.SGD{LR: 0.01}, job.Strategy); err != nil {
			return err
		}
		if err := begin(ctx, f); err != nil {
			return err
		}
		if f.IsServer() {
			return f.RunServer(ctx)
		}
		if err := f.InitWorker(ctx); err != nil && !errors.Is(err, fleet.ErrOrder) {
			return err
		}
		exe, w := nn.NewExecutor(g), f.WorkerIndex()
		for range 3 + w {
			out, err := exe.Train(ctx, dataset.Batch{"x": nn.Floats(slices.Repeat([]float32{1}, 64), 64)}, mask)
			if err != nil {
				return err
			}
			masks[w] = append(masks[w], fmt.Sprint(out[0].Float32s()))
		}
		if err := errors.Join(exe.Close(ctx), f.BarrierWorker(ctx)); err != nil {
			return err
		}
		if to != "" && f.IsFirstWorker() {
			if err := f.SavePersistables(ctx, to); err != nil {
				return err
			}
		}
		return errors.Join(f.BarrierWorker(ctx), f.StopWorker(ctx))
	})
	return masks
}

// TestDroppedOnAnyServers: a job that is started again on other servers, or on none, comes to the bits of one that was never stopped, and
// the first thread of its first worker drops what a process alone does.
func TestDroppedOnAnyServers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	whole := (&masked{Cluster: trial.Cluster(2, 2), strategy: strategy.Sync(), dir: t.TempDir(), epochs: 3}).run(t)
	for servers := range 4 {
		leg := &masked{Cluster: trial.Cluster(2, 2), strategy: strategy.Sync(), dir: t.TempDir()}
		for leg.epochs = 1; leg.epochs <= 3; leg.epochs++ {
			leg.run(t)
			leg.Cluster = trial.Cluster(servers, 2)
		}
		if !slices.Equal(leg.model, whole.model) {
			t.Errorf("on %d servers the weights are others", servers)
		}
	}
	alone := (&masked{Cluster: trial.Cluster(0, 1), strategy: strategy.Sync(), dir: t.TempDir(), epochs: 1}).run(t)
	for step, mask := range alone.masks {
		if !slices.Contains(whole.masks, mask) {
			t.Errorf("in step %d a process alone drops otherwise than worker 0 of two", step)
		}
	}
}

// TestFrozenForEveryExecutor: values of frozen params that nobody has set are those that they began with, in executors that train or
// evaluate beside the first too.
//
// Promise: [G6] frozen params have their values in every executor
func TestFrozenForEveryExecutor(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		job.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			still := g.Parameter(nn.ParameterOptions{Name: "still", Init: optimizer.Constant{Value: 3}, Frozen: true},
				2)
			loss := nn.Mean(nn.Linear(nn.Add(g.Input("x", 2), still), 1, nn.LinearOptions{}))
			return trial.PlayGraph(ctx, f, loss, optimizer.SGD{LR: 0.1}, job.Strategy, func(first *nn.Executor) error {
				batch := dataset.Batch{"x": nn.Floats([]float32{1, 2}, 2)}
				if _, err := first.Train(ctx, batch); err != nil {
					return err
				}
				second := nn.NewExecutor(g)
				out, err := second.Eval(ctx, batch, still)
				if err == nil && !slices.Equal(out[0].Float32s(), []float32{3, 3}) {
					t.Errorf("%s: another executor reads %v, want 3", name, out[0].Float32s())
				}
				return errors.Join(err, second.Close(ctx))
			})
		})
	}
}

// TestTwoExecutorsDropOn: the steps of two executors that train as one thread are in checkpoints too, though nobody knows on which samples
// they were: a job that goes on drops what would have been dropped next.
func TestTwoExecutorsDropOn(t *testing.T) {
	t.Parallel()
	for name, job := range trial.Jobs(t) {
		if name != "alone" && name != "async" {
			continue // with one training session a worker, or with threads that wait for each other
		}
		var mu sync.Mutex
		var masks []string
		job.Strategy.Recovery = strategy.Recovery{Dir: t.TempDir()}
		for range 2 {
			job.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				mask := nn.Dropout(g.Input("x", 64), 0.5)
				return trial.Play(ctx, f, nn.Mean(nn.Linear(mask, 1, nn.LinearOptions{})), optimizer.SGD{LR: 0.01},
					job.Strategy, func() error {
						exes := []*nn.Executor{nn.NewExecutor(g), nn.NewExecutor(g)}
						for step := range 6 {
							out, err := exes[step%2].Train(ctx, dataset.Batch{"x": nn.Floats(slices.Repeat([]float32{1},
								64), 64)}, mask)
							if err != nil {
								return err
							}
							mu.Lock()
							masks = append(masks, fmt.Sprint(out[0].Float32s()))
							mu.Unlock()
						}
						if err := errors.Join(exes[0].Close(ctx), exes[1].Close(ctx),
							f.BarrierWorker(ctx)); err != nil {
							return err
						}
						if !f.IsFirstWorker() {
							return f.BarrierWorker(ctx)
						}
						return errors.Join(f.Checkpoint(ctx), f.BarrierWorker(ctx))
					})
			})
		}
		if n, ways := len(masks), len(slices.Compact(slices.Sorted(slices.Values(masks)))); n != 12*max(job.Cluster.Workers, 1) || ways != n {
			t.Errorf("%s: %d steps have dropped in %d ways", name, n, ways)
		}
	}
}
