package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"gorgonia.org/tensor"
)

// beside is a model whose metric looks up other ids of its table than the loss.
type beside struct {
	loss  *nn.Node
	fetch []*nn.Node
}

// besideCase is a cluster that trains it.
type besideCase struct {
	mode    strategy.Mode
	workers int
	entry   optimizer.Entry
	height  int
	loop    besideLoop
}

// besideLoop is how it is trained: by TrainFrom, step by step, in a thread of TrainThreads, or with merged gradients.
type besideLoop string

func newBeside(entry optimizer.Entry, height int) *beside {
	g := nn.NewGraph(1)
	y := g.Input("y", 1)
	o := nn.EmbeddingOptions{Name: "emb", Dim: 1, Height: height, Entry: entry}
	b := &beside{loss: nn.Mean(nn.SquareError(nn.Embedding(g.IDs("ids", 1), o), y))}
	other, pool := nn.Embedding(g.IDs("other", 1), o), nn.EmbeddingPool(g.Slot("words"), nn.PoolSum, o)
	b.fetch = []*nn.Node{nn.MAE(other, y), other, pool}
	return b
}

// batches are ten of two examples: row 7 is trained in the first three, and looked up beside the loss in all.
func (*beside) batches(yield func(map[string]*tensor.Dense, error) bool) {
	for step := range 10 {
		second := int64(2)
		if step < 3 {
			second = 7
		}
		if !yield(map[string]*tensor.Dense{
			"ids": nn.Ints([]int64{1, second}, 1), "y": nn.Floats([]float32{1, float32(step) / 4}, 1), "other": nn.Ints([]int64{7, 9}, 1),
			"words":         tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{7, 11, 1})),
			"words.offsets": tensor.New(tensor.WithShape(3), tensor.WithBacking([]int64{0, 1, 3})),
		}, nil) {
			return
		}
	}
}

// TestAFetchBesideTheLossTrainsNothing: what a training step computes beside its loss, such as a metric of another column, is read
// as an evaluation reads it. The model is the same to the bit without, in every mode.
//
// Promise: [G2] what is fetched beside the loss changes no bit of the model, in any mode and way of training, and has
// the values of an evaluation
// Also: TestLoopsBesideTheLoss, TestAFetchBesideTheLossTravelsWithTheStep, TestLayersBesideTheLoss (nn),
// TestATeacherIsNotTrained (nn)
func TestAFetchBesideTheLossTrainsNothing(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	entries := map[string]optimizer.Entry{"all": {}, "counted": {CountFilter: 4},
		"clicked": {ShowClick: optimizer.ShowClick{Threshold: 0.35}}}
	for _, m := range trial.Some(t, append(strategy.Modes(), "collective", "alone")) {
		workers := 1
		if m == strategy.ModeSync || m == "collective" {
			workers = 2
		}
		for name, entry := range entries {
			for _, height := range []int{0, 20} {
				if m == strategy.ModeGeo && entry != (optimizer.Entry{}) {
					continue // refused
				}
				c := besideCase{m, workers, entry, height, "TrainFrom"}
				t.Run(fmt.Sprintf("%s/%s/%d", m, name, height), func(t *testing.T) {
					if without, with := c.weights(t, false), c.weights(t, true); !bytes.Equal(without, with) {
						t.Errorf("a fetch beside the loss changed the model:\n%q\n%q", without, with)
					}
				})
			}
		}
	}
}

// TestLoopsBesideTheLoss is the same for every way of training.
func TestLoopsBesideTheLoss(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, m := range trial.Some(t, []strategy.Mode{strategy.ModeSync, "collective", "alone"}) {
		for _, loop := range []besideLoop{"Train", "TrainThreads", "merged"} {
			c := besideCase{m, 1, optimizer.Entry{CountFilter: 4}, 0, loop}
			if without, with := c.weights(t, false), c.weights(t, true); !bytes.Equal(without, with) {
				t.Errorf("%s, %s: a fetch beside the loss changed the model:\n%q\n%q", m, loop, without, with)
			}
		}
	}
}

// TestAFetchBesideTheLossTravelsWithTheStep: rows that a step looks up beside its loss come with those that it trains, asked for ahead
// too. A step takes as many trips as without, as many as is explained, and brings dense weights no more often. Of small frames, in which
// each table comes by itself, it takes one more from each server at most.
func TestAFetchBesideTheLossTravelsWithTheStep(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, m := range []strategy.Mode{strategy.ModeSync, strategy.ModeSSP, strategy.ModeHalfAsync, strategy.ModeAsync} {
		for _, frame := range []int{0, 4096} {
			t.Run(fmt.Sprint(m, frame), func(t *testing.T) {
				s := strategy.Strategy{Mode: m, MaxFrame: frame}
				if m == strategy.ModeAsync {
					s.MaxMergeVarNum = 1 // how many steps meet in a push depends on who is faster
				}
				without, explained := tripsBeside(t, s, false)
				with, _ := tripsBeside(t, s, true)
				if more := with.Calls - without.Calls; frame == 0 && (more != 0 || float64(with.Calls) != explained) || more > 2*besideSteps {
					t.Errorf("%d trips, %d without what is fetched beside the loss, explained are %v", with.Calls, without.Calls, explained)
				}
				most := int64(besideSteps * 160) // three rows, and heads of frames and sections
				if more := with.Received - without.Received; more <= 0 || more > most {
					t.Errorf("what is fetched beside the loss brings %d bytes more, want at most %d", more, most)
				}
			})
		}
	}
}

const besideSteps = 8

// tripsBeside is what steps behind the first took of the network, and how many trips are explained.
func tripsBeside(t *testing.T, s strategy.Strategy, fetched bool) (took transport.Stats, explained float64) {
	fleettest.Cluster{Servers: 2, Workers: 1}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		b := newBeside(optimizer.Entry{}, 0)
		dense := nn.Linear(b.loss.Graph().Input("x", 1000), 1, nn.LinearOptions{})
		loss := nn.Add(b.loss, nn.Mean(dense))
		return trial.PlayGraph(ctx, f, loss, optimizer.SGD{LR: 0.1}, s, func(exe *nn.Executor) error {
			o := nn.TrainOptions{Step: func(_ context.Context, so nn.TrainResult) error {
				if so.Steps != 1 && so.Steps != 1+besideSteps {
					return nil
				}
				synctest.Wait() // what is under way arrives
				e, err := f.Explain(map[string]int{"emb": 2})
				if err != nil {
					return err
				}
				took.Calls, took.Received, explained = e.Transport.Calls-took.Calls, e.Transport.Received-took.Received, 0
				for _, server := range e.Servers {
					explained += besideSteps * server.Trips
				}
				return nil
			}}
			if fetched {
				o.Fetch = b.fetch
			}
			_, err := exe.TrainFrom(ctx, func(yield func(map[string]*tensor.Dense, error) bool) {
				for batch := range b.batches {
					batch["x"] = nn.Floats(make([]float32, 2000), 1000)
					if !yield(batch, nil) {
						return
					}
				}
			}, o)
			return err
		})
	})
	return took, explained
}

func (l besideLoop) train(ctx context.Context, exe *nn.Executor, b *beside, o nn.TrainOptions) error {
	switch l {
	case "TrainThreads":
		_, err := nn.TrainThreads(ctx, b.loss.Graph(), 1, func(int) iter.Seq2[map[string]*tensor.Dense, error] { return b.batches }, o)
		return err
	case "Train":
		for batch := range b.batches {
			read, err := exe.Eval(ctx, batch, o.Fetch...)
			want := fmt.Sprint(read[min(1, len(read)):])
			if err == nil {
				read, err = exe.Train(ctx, batch, o.Fetch...)
			}
			if got := fmt.Sprint(read[min(1, len(read)):]); err != nil || got != want {
				return fmt.Errorf("fetched %s, an evaluation before says %s: %w", got, want, err)
			}
		}
		return nil
	}
	_, err := exe.TrainFrom(ctx, b.batches, o)
	return err
}

// weights trains on a cluster of a mode and returns the file of the model that worker 0 saves.
func (c besideCase) weights(t *testing.T, fetched bool) []byte {
	t.Helper()
	cluster, s, dir := fleettest.Cluster{Servers: 1, Workers: c.workers}, strategy.Strategy{Mode: c.mode}, t.TempDir()
	switch c.mode {
	case "collective", "alone":
		cluster.Servers, s = 0, strategy.Strategy{}
	}
	if c.loop == "merged" {
		s.GradientMerge.KSteps = 3
	}
	var rule optimizer.Rule = optimizer.Adam{LR: 0.05}
	if c.mode == strategy.ModeGeo {
		rule = optimizer.SGD{LR: 0.05}
	}
	cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		b := newBeside(c.entry, c.height)
		return trial.PlayGraph(ctx, f, b.loss, rule, s, func(exe *nn.Executor) error {
			o := nn.TrainOptions{}
			if fetched {
				o.Fetch = b.fetch
			}
			err := c.loop.train(ctx, exe, b, o)
			if err == nil {
				err = f.BarrierWorker(ctx)
			}
			if err != nil || !f.IsFirstWorker() {
				return err
			}
			return f.SaveInferenceModel(ctx, dir, nn.Inference(b.fetch[1]))
		})
	})
	return trial.Weights(t, dir)
}
