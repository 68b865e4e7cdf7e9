package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"gorgonia.org/tensor"
)

// TestThreadsOfOneWorker trains with three threads a worker, whose batches are uneven, in every mode that has room for them.
func TestThreadsOfOneWorker(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, m := range strategy.Modes() {
		for servers := range 2 {
			if servers > 0 && (m == strategy.ModeSync || m == strategy.ModeSSP) {
				continue
			}
			t.Run(fmt.Sprintf("%s on %d servers", m, servers), func(t *testing.T) {
				s, err := strategy.Named(string(m))
				if err != nil {
					t.Fatal(err)
				}
				workers := 1 + servers
				fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
					res, err := threeThreads(ctx, f, s)
					if err == nil && f.IsWorker() && res.Samples != 80/workers {
						err = fmt.Errorf("%d samples, want %d", res.Samples, 80/workers)
					}
					return err
				})
			})
		}
	}
}

// TestThreadsBeginWithTheWeights: where nothing moves the weights, every step of every thread has the loss of an evaluation.
func TestThreadsBeginWithTheWeights(t *testing.T) {
	t.Parallel()
	for _, m := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync, strategy.ModeGeo} {
		fleettest.Run(t, 2, 1, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			x, y := g.Input("x", 2), g.Input("y", 1)
			w := g.Parameter(nn.ParameterOptions{Name: "w", Init: optimizer.Constant{Value: 0.5}}, 2, 1)
			loss := nn.Mean(nn.SquareError(nn.MatMul(x, w), y))
			return trial.Play(ctx, f, loss, optimizer.SGD{LR: 1e-12}, strategy.Strategy{Mode: m}, func() error {
				for range 2 {
					res, err := nn.TrainThreads(ctx, g, 4, func(int) iter.Seq2[dataset.Batch, error] {
						return func(yield func(dataset.Batch, error) bool) {
							one := dataset.Batch{"x": tensor.New(tensor.WithShape(1, 2), tensor.WithBacking([]float32{1, 1})),
								"y": tensor.New(tensor.WithShape(1, 1), tensor.WithBacking([]float32{1.5}))}
							for range 5 {
								if !yield(one, nil) {
									return
								}
							}
						}
					}, nn.TrainOptions{})
					if err != nil {
						return err
					}
					if math.Abs(res.Loss-0.25) > 1e-6 {
						return fmt.Errorf("%s: the mean loss of %d steps is %v, with these weights it is 0.25", m, res.Steps, res.Loss)
					}
				}
				return nil
			})
		})
	}
}

// TestThreadsThatMerge has each thread merge the gradients of its own steps, whose number is no multiple of what is merged: none
// waits for another that has ended, and the rests are pushed.
func TestThreadsThatMerge(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, m := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync} {
		for k := 2; k <= 5; k += 3 {
			t.Run(fmt.Sprintf("%s, %d steps", m, k), func(t *testing.T) {
				s := strategy.Strategy{Mode: m, GradientMerge: strategy.GradientMerge{KSteps: k}}
				fleettest.Run(t, 2, 2, func(ctx context.Context, f *fleet.Fleet) error {
					res, err := threeThreads(ctx, f, s)
					if err == nil && f.IsWorker() && res.Samples != 40 {
						err = fmt.Errorf("%d samples, want 40", res.Samples)
					}
					return err
				})
			})
		}
	}
}

// TestThreadsThatMeetSaveTheirAverages: where threads wait for each other's steps and push together, what one of them
// evaluates behind its step has the moving averages that it saves there.
func TestThreadsThatMeetSaveTheirAverages(t *testing.T) {
	t.Parallel()
	const threads, steps = 2, 6
	dir := t.TempDir()
	fleettest.Cluster{Servers: 1, Workers: 1}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		x, y := g.Input("x", 2), g.Input("y", 1)
		pred := nn.Linear(nn.BatchNorm(x, nn.NormOptions{Name: "norm", Momentum: 0.5}), 1, nn.LinearOptions{})
		averages := []*nn.Node{g.Node("norm.w_1"), g.Node("norm.w_2")}
		same := func(ctx context.Context, step int) error {
			exe, dir := nn.NewExecutor(g), filepath.Join(dir, fmt.Sprint(step))
			evaluated, err := exe.Eval(ctx, nil, averages...)
			if err = errors.Join(err, exe.Close(ctx), f.SaveInferenceModel(ctx, dir, nn.Inference(pred))); err != nil {
				return err
			}
			m, err := serve.Load(dir)
			if err != nil {
				return err
			}
			for _, p := range m.Graph.Params() {
				for i, n := range averages {
					if want := evaluated[i].Float32s(); p.Name == n.Name() && !slices.Equal(p.W, want) {
						return fmt.Errorf("step %d: %s is evaluated as %v and saved as %v", step, p.Name, want, p.W)
					}
				}
			}
			return nil
		}
		train := func(ctx context.Context, thread int) error {
			exe, o := nn.NewExecutor(g), nn.TrainOptions{}
			exe.SetThread(thread, threads)
			if thread == 0 {
				o.Step = func(ctx context.Context, r nn.TrainResult) error { return same(ctx, r.Steps) }
			}
			_, err := exe.TrainFrom(ctx, func(yield func(dataset.Batch, error) bool) {
				for step := range steps + thread {
					time.Sleep(time.Duration(1+thread) * time.Second)
					v := float32(step*step + thread)
					if !yield(dataset.Batch{"x": tensor.New(tensor.WithShape(2, 2), tensor.WithBacking([]float32{v, 1, 2, -v})),
						"y": tensor.New(tensor.WithShape(2, 1), tensor.WithBacking([]float32{v, 1}))}, nil) {
						return
					}
				}
			}, o)
			return errors.Join(err, exe.Close(ctx))
		}
		s := strategy.Strategy{Mode: strategy.ModeHalfAsync, Merge: strategy.MergeMean}
		return trial.Play(ctx, f, nn.Mean(nn.SquareError(pred, y)), optimizer.SGD{LR: 0.01}, s, func() error {
			other := make(chan error, 1)
			go func() { other <- train(ctx, 1) }()
			return errors.Join(train(ctx, 0), <-other)
		})
	})
}

// TestOneThreadInRounds: modes in which workers wait for each other, and jobs without servers, refuse a second thread that
// trains.
func TestOneThreadInRounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		strategy strategy.Strategy
		servers  int
	}{"sync": {strategy.Sync(), 1}, "ssp": {strategy.SSP(1), 1}, "without servers": {strategy.Sync(), 0}} {
		t.Run(name, func(t *testing.T) {
			var working sync.WaitGroup // until both have failed, none closes: that would be the other's error
			working.Add(2)
			errs := fleettest.Cluster{Servers: c.servers, Workers: 2}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				_, err := twoThreads(ctx, f, c.strategy)
				if f.IsWorker() {
					working.Done()
					working.Wait()
				}
				if err != nil {
					f.Close()
				}
				return err
			})
			for _, worker := range []string{"worker 0", "worker 1"} {
				if err := errs[worker]; err == nil || !strings.Contains(err.Error(), "close the other one first") {
					t.Errorf("%s: %v", worker, err)
				}
			}
		})
	}
}

// twoThreads has the second train while the first does.
func twoThreads(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) (nn.TrainResult, error) {
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(200*time.Millisecond), strategy.Duration(20*time.Millisecond)
	holding, tried := make(chan struct{}), make(chan struct{})
	hold := sync.OnceFunc(func() { close(holding) })
	return trainThreads(ctx, f, s, 2, func(thread int) iter.Seq2[dataset.Batch, error] {
		return func(yield func(dataset.Batch, error) bool) {
			if thread == 1 {
				defer close(tried)
				<-holding
			} else {
				defer hold() // the first may fail before its third batch
			}
			n := 0
			for batch, err := range clicks().Batches(8) {
				if !yield(batch, err) {
					return
				}
				if n++; thread == 0 && n == 3 { // the first step has ended
					hold()
					<-tried
				}
			}
		}
	})
}

func threeThreads(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) (res nn.TrainResult, err error) {
	return trainThreads(ctx, f, s, 3, func(thread int) iter.Seq2[dataset.Batch, error] {
		return clicks().Shard(f.WorkerIndex(), f.WorkerNum()).Shard(thread, 3).Batches(1 + 2*thread)
	})
}

func trainThreads(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, n int,
	batches func(thread int) iter.Seq2[dataset.Batch, error]) (res nn.TrainResult, err error) {
	net := widedeep.New(small())
	err = trial.Play(ctx, f, net.Loss, optimizer.SGD{LR: 0.01}, s, func() (err error) {
		res, err = nn.TrainThreads(ctx, net.Graph, n, batches, nn.TrainOptions{Fetch: []*nn.Node{net.AUC}})
		return err
	})
	return res, err
}
