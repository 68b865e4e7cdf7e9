package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
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
func TestAFetchBesideTheLossTrainsNothing(t *testing.T) {
	t.Parallel()
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
	for _, m := range []strategy.Mode{strategy.ModeSync, "collective", "alone"} {
		for _, loop := range []besideLoop{"Train", "TrainThreads", "merged"} {
			c := besideCase{m, 1, optimizer.Entry{CountFilter: 4}, 0, loop}
			if without, with := c.weights(t, false), c.weights(t, true); !bytes.Equal(without, with) {
				t.Errorf("%s, %s: a fetch beside the loss changed the model:\n%q\n%q", m, loop, without, with)
			}
		}
	}
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
