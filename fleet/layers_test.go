package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"strings"
	"sync"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// layerInputs are what layers are tried on: rows [N 4 6] of a sequence with its mask, a query [N 6], and the ids behind them.
type layerInputs struct {
	rows, mask, query, ids *nn.Node
	table                  nn.EmbeddingOptions
}

func (in layerInputs) flat() *nn.Node   { return nn.Reshape(in.rows, 24) }
func (in layerInputs) images() *nn.Node { return nn.Reshape(in.rows, 2, 3, 4) }

// layers are all of nn's, by the name of their function and what is particular.
var layers = map[string]func(in layerInputs) *nn.Node{
	"Linear":              func(in layerInputs) *nn.Node { return nn.Linear(in.flat(), 5, nn.LinearOptions{Act: nn.ReLU}) },
	"Linear per position": func(in layerInputs) *nn.Node { return nn.Linear(in.rows, 3, nn.LinearOptions{PerPosition: true}) },
	"Conv2D":              func(in layerInputs) *nn.Node { return nn.Conv2D(in.images(), 3, nn.ConvOptions{Kernel: 2}) },
	"Conv1D":              func(in layerInputs) *nn.Node { return nn.Conv1D(in.rows, 3, nn.ConvOptions{Kernel: 2}) },
	"MaxPool2D":           func(in layerInputs) *nn.Node { return nn.MaxPool2D(in.images(), nn.PoolOptions{Kernel: 2}) },
	"AvgPool2D":           func(in layerInputs) *nn.Node { return nn.AvgPool2D(in.images(), nn.PoolOptions{Kernel: 2}) },
	"GlobalMaxPool2D":     func(in layerInputs) *nn.Node { return nn.GlobalMaxPool2D(in.images()) },
	"GlobalAvgPool2D":     func(in layerInputs) *nn.Node { return nn.GlobalAvgPool2D(in.images()) },
	"BatchNorm":           func(in layerInputs) *nn.Node { return nn.BatchNorm(in.flat(), nn.NormOptions{}) },
	"BatchNorm of images": func(in layerInputs) *nn.Node { return nn.BatchNorm(in.images(), nn.NormOptions{}) },
	"LayerNorm":           func(in layerInputs) *nn.Node { return nn.LayerNorm(in.rows, nn.NormOptions{Axis: 2}) },
	"GroupNorm":           func(in layerInputs) *nn.Node { return nn.GroupNorm(in.images(), 2, nn.NormOptions{}) },
	"Dropout":             func(in layerInputs) *nn.Node { return nn.Dropout(in.flat(), 0.5) },
	"Embedding": func(in layerInputs) *nn.Node {
		return nn.Embedding(in.ids, nn.EmbeddingOptions{Name: "more", Height: 20, Dim: 3})
	},
	"EmbeddingPool": func(in layerInputs) *nn.Node {
		return nn.EmbeddingPool(in.rows.Graph().Slot("slot"), nn.PoolMean, nn.EmbeddingOptions{Name: "slots", Height: 20, Dim: 3})
	},
	"EmbeddingPoolWeighted": func(in layerInputs) *nn.Node {
		g := in.rows.Graph()
		return nn.EmbeddingPoolWeighted(g.Slot("slot"), g.SlotValues("values"), nn.PoolSum, nn.EmbeddingOptions{Name: "slots", Height: 20, Dim: 3})
	},
	"EmbeddingSequence": func(in layerInputs) *nn.Node {
		return nn.EmbeddingSequence(in.rows.Graph().Slot("slot"), 3, nn.EmbeddingOptions{Name: "slots", Height: 20, Dim: 3}).Rows
	},
	"SequencePool": func(in layerInputs) *nn.Node { return nn.SequencePool(in.rows, in.mask, nn.PoolMax) },
	"Attention": func(in layerInputs) *nn.Node {
		return nn.Attention(in.rows, in.rows, in.rows, nn.AttentionOptions{Heads: 2, Mask: in.mask, Dropout: 0.2})
	},
	"TransformerEncoder": func(in layerInputs) *nn.Node {
		return nn.TransformerEncoder(in.rows, nn.TransformerOptions{Attention: nn.AttentionOptions{Heads: 3, Mask: in.mask, Causal: true}})
	},
	"PositionalEmbedding": func(in layerInputs) *nn.Node { return nn.PositionalEmbedding(in.rows, nn.ParameterOptions{}) },
	"GRU":                 func(in layerInputs) *nn.Node { return nn.GRU(in.rows, 5, nn.GRUOptions{Mask: in.mask}) },
	"LSTM":                func(in layerInputs) *nn.Node { return nn.LSTM(in.rows, 5, nn.RecurrentOptions{Mask: in.mask}) },
	"Bidirectional": func(in layerInputs) *nn.Node {
		return nn.Bidirectional(nn.GRU, in.rows, 5, nn.RecurrentOptions{Mask: in.mask})
	},
	"DIN": func(in layerInputs) *nn.Node { return nn.DIN(in.query, in.rows, in.mask, nn.DINOptions{}) },
	"DIN by softmax": func(in layerInputs) *nn.Node {
		return nn.DIN(in.query, in.rows, in.mask, nn.DINOptions{Hidden: []int{3}, Softmax: true, Act: nn.PReLU})
	},
	"MMoE": func(in layerInputs) *nn.Node {
		return nn.Concat(nn.MMoE(in.flat(), nn.MMoEOptions{Experts: 3, Tasks: 2, Hidden: []int{4}})...)
	},
	"FM":            func(in layerInputs) *nn.Node { return nn.FM(in.rows) },
	"Cross":         func(in layerInputs) *nn.Node { return nn.Cross(in.flat(), nn.CrossOptions{Layers: 2}) },
	"Cross of rank": func(in layerInputs) *nn.Node { return nn.Cross(in.flat(), nn.CrossOptions{Rank: 2}) },
	"Custom": func(in layerInputs) *nn.Node {
		if err := nn.RegisterOp[gated]("fleet_test.gated"); err != nil {
			panic(err)
		}
		x := in.flat()
		return nn.Custom(gated{Sharp: 2}, x, in.rows.Graph().Parameter(nn.ParameterOptions{Name: "gates"}, 24))
	},
	"Shared": func(in layerInputs) *nn.Node {
		tower := nn.Shared(func(x *nn.Node) *nn.Node { return nn.Linear(x, 3, nn.LinearOptions{Act: nn.Tanh}) })
		return nn.Multiply(tower(in.query), tower(nn.SequencePool(in.rows, in.mask, nn.PoolSum)))
	},
}

// gated is a user's operation: each number of an example times a gate that all examples share, to a power of e.
type gated struct{ Sharp float32 }

func (gated) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (o gated) gate(c *nn.OpCall, i int) float32 {
	return float32(math.Exp(float64(o.Sharp * c.In[1].Value[i%len(c.In[1].Value)])))
}

func (o gated) Forward(c *nn.OpCall) {
	for i, x := range c.In[0].Value {
		c.Out.Value[i] = x * o.gate(c, i)
	}
}

func (o gated) Backward(c *nn.OpCall) {
	for i, d := range c.Out.Grad {
		if c.In[0].Grad != nil {
			c.In[0].Grad[i] += d * o.gate(c, i)
		}
		if c.In[1].Grad != nil {
			c.In[1].Grad[i%len(c.In[1].Grad)] += d * c.Out.Value[i] * o.Sharp
		}
	}
}

// TestAllLayersStand: each layer of nn's table has a job with servers train what one process does, a job that is started again what one
// does that was not, async workers with threads come to weights that are numbers, and a scorer in another program that joins calls score
// what the job's own evaluation does.
//
// Promise: [G2] each layer trains with servers what one process does, goes on after a restart with the bits of a job
// that was not stopped, trains in async with threads, and is scored in joined calls as the job evaluates it
func TestAllLayersStand(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	table, _, _ := strings.Cut(string(trial.Read(t, "../nn/OPS.md")), "## Functions of an element")
	for _, m := range regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \|`).FindAllStringSubmatch(table, -1) {
		if layers[m[1]] == nil {
			t.Errorf("no row of layers has %s", m[1])
		}
	}
	for name, layer := range trial.SomeOf(t, layers) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sync := strategy.Sync()
			alone := layered{layer: layer, Cluster: trial.Cluster(0, 1), strategy: sync, epochs: 2}.run(t)
			whole := layered{layer: layer, Cluster: trial.Cluster(2, 1), strategy: sync, epochs: 2}.run(t)
			if !bytes.Equal(trial.Weights(t, alone.dir), trial.Weights(t, whole.dir)) {
				t.Error("two servers don't train what one process does")
			}
			resumed := layered{layer: layer, Cluster: trial.Cluster(2, 1), strategy: sync, epochs: 1}
			resumed.strategy.Recovery.Dir = t.TempDir()
			resumed.run(t)
			resumed.epochs = 2
			if again := resumed.run(t); !bytes.Equal(trial.Weights(t, again.dir), trial.Weights(t, whole.dir)) {
				t.Error("a job that was started again doesn't train what another does")
			}
			many := layered{layer: layer, Cluster: trial.Cluster(2, 2), strategy: strategy.Strategy{Mode: strategy.ModeAsync}, epochs: 2, threads: 2}.run(t)
			for _, run := range []ran{whole, many} {
				if err := run.scored(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// layered is a job that trains one layer between an embedding and a linear layer.
type layered struct {
	fleettest.Cluster
	layer    func(layerInputs) *nn.Node
	strategy strategy.Strategy
	epochs   int
	threads  int
}

// ran is the model that a job has saved, and what its own evaluation computes.
type ran struct {
	dir    string
	scores []float32
}

func (l layered) run(t *testing.T) ran {
	t.Helper()
	r := ran{dir: t.TempDir()}
	l.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		g := nn.NewGraph(1)
		in := layerInputs{ids: g.IDs("ids", 4), table: nn.EmbeddingOptions{Name: "items", Height: 20, Dim: 6, PaddingIdx: new(int64(0))}}
		s := nn.EmbeddingSequence(in.ids, 0, in.table)
		in.rows, in.mask, in.query = s.Rows, s.Mask, nn.Embedding(g.IDs("item", 1), in.table)
		logit := nn.Linear(l.layer(in), 1, nn.LinearOptions{Name: "logit"})
		loss := nn.Mean(nn.BinaryCrossEntropyWithLogits(logit, g.Input("label", 1)))
		return trial.Play(ctx, f, loss, optimizer.Adam{LR: 0.01}, l.strategy, func() error {
			for epoch := f.Progress().Epoch; epoch < l.epochs; epoch++ {
				if err := l.train(ctx, f, g); err != nil {
					return err
				}
				if err := errors.Join(f.BarrierWorker(ctx), f.SetProgress(fleet.Progress{Epoch: epoch + 1})); err != nil {
					return err
				}
			}
			if l.strategy.Recovery.Dir != "" {
				if err := f.Checkpoint(ctx); err != nil {
					return err
				}
			}
			if !f.IsFirstWorker() {
				return nil
			}
			exe := nn.NewExecutor(g)
			out, err := exe.Eval(ctx, layerBatch(g), logit)
			if err != nil {
				return err
			}
			r.scores = append([]float32(nil), out[0].Float32s()...)
			return errors.Join(exe.Close(ctx), f.SaveInferenceModel(ctx, r.dir, nn.Inference(logit)))
		})
	})
	return r
}

// train trains an epoch of two batches for each thread.
func (l layered) train(ctx context.Context, f *fleet.Fleet, g *nn.Graph) error {
	batches := func(thread int) iter.Seq2[dataset.Batch, error] {
		return func(yield func(dataset.Batch, error) bool) {
			for range 2 {
				if !yield(layerBatch(g), nil) {
					return
				}
			}
		}
	}
	if l.threads > 1 {
		_, err := nn.TrainThreads(ctx, g, l.threads, batches, nn.TrainOptions{})
		return err
	}
	exe := nn.NewExecutor(g)
	_, err := exe.TrainFrom(ctx, batches(0), nn.TrainOptions{})
	return errors.Join(err, exe.Close(ctx))
}

// layerBatch are 5 rows of what the graph is fed. The first sequence is empty but for padding.
func layerBatch(g *nn.Graph) map[string]*gorgonia.Dense {
	feeds := map[string]*gorgonia.Dense{"label": nn.Floats([]float32{1, 0, 0, 1, 1}, 1), "item": nn.Ints([]int64{3, 7, 7, 2, 19}, 1),
		"ids": nn.Ints([]int64{0, 0, 0, 0, 1, 2, 3, 0, 5, 0, 7, 8, 9, 10, 11, 12, 4, 19, 0, 0}, 4)}
	if g.Node("slot") != nil {
		offsets := flat([]int64{0, 2, 2, 3, 7, 9})
		feeds["slot"], feeds["slot.offsets"] = flat([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9}), offsets
		if g.Node("values") != nil {
			feeds["values"], feeds["values.offsets"] = flat([]float32{1, 2, 1, 2, 1, 2, 1, 2, 1}), offsets
		}
	}
	return feeds
}

// flat is a feed without dimensions behind the first.
func flat[T float32 | int64](v []T) *gorgonia.Dense {
	return gorgonia.New(gorgonia.WithShape(len(v)), gorgonia.WithBacking(v))
}

// scored compares scores of a scorer that joins calls with the job's own, all rows in one call and each in a call of its own.
func (r ran) scored(ctx context.Context) error {
	scorer, err := serve.OpenScorer(r.dir, serve.ScorerOptions{Join: 8})
	if err != nil {
		return err
	}
	m, err := serve.Load(r.dir)
	if err != nil {
		return err
	}
	all := layerBatch(m.Graph)
	delete(all, "label")
	errs := make([]error, 1+len(r.scores))
	var calls sync.WaitGroup
	calls.Go(func() { errs[0] = r.agree(ctx, scorer, all, r.scores) })
	for i, want := range r.scores {
		calls.Go(func() { errs[i+1] = r.agree(ctx, scorer, oneRow(all, i), []float32{want}) })
	}
	calls.Wait()
	return errors.Join(errs...)
}

func (r ran) agree(ctx context.Context, s *serve.Scorer, feeds map[string]*gorgonia.Dense, want []float32) error {
	got, err := s.Score(ctx, feeds)
	if err != nil {
		return err
	}
	for i, w := range want {
		if d := math.Abs(float64(got.Values[0][i] - w)); !(d <= 1e-5) {
			return fmt.Errorf("row %d of %d is scored %v, the job evaluates it as %v", i, len(want), got.Values[0][i], w)
		}
	}
	return nil
}

// oneRow is one row of a batch.
func oneRow(all map[string]*gorgonia.Dense, row int) map[string]*gorgonia.Dense {
	one := map[string]*gorgonia.Dense{}
	for name, t := range all {
		width := 1
		for _, d := range t.Shape()[1:] {
			width *= d
		}
		from, to := row*width, (row+1)*width
		if offsets := all[name+".offsets"]; offsets != nil {
			from, to = int(offsets.Data().([]int64)[row]), int(offsets.Data().([]int64)[row+1])
			one[name+".offsets"] = flat([]int64{0, int64(to - from)})
		}
		shape := append([]int{(to - from) / width}, t.Shape()[1:]...)
		switch v := t.Data().(type) {
		case []float32:
			one[name] = gorgonia.New(gorgonia.WithShape(shape...), gorgonia.WithBacking(v[from:to]))
		case []int64:
			if !strings.HasSuffix(name, ".offsets") {
				one[name] = gorgonia.New(gorgonia.WithShape(shape...), gorgonia.WithBacking(v[from:to]))
			}
		}
	}
	return one
}
