package nn

import (
	"math"
	"testing"
	"time"

	"gorgonia.org/tensor"
)

// timedModels are models whose layers are more than products, each with a batch of its own.
var timedModels = map[string]func() (loss *Node, feed batchOf){
	"transformer": func() (*Node, batchOf) {
		const n, l, d = 128, 50, 64
		g := NewGraph(1)
		x := PositionalEmbedding(g.Input("x", l, d), ParameterOptions{})
		y := TransformerEncoder(x, TransformerOptions{Attention: AttentionOptions{Heads: 4, Mask: g.Input("mask", l)}})
		return Mean(Square(y)), batchOf{"x": floats([]int{n, l, d}, uniform(1, n*l*d, -1, 1)...), "mask": maskOf(n, l, 0.7)}
	},
	"gru4rec": func() (*Node, batchOf) {
		const n, l = 128, 20
		g := NewGraph(1)
		seen := EmbeddingSequence(g.IDs("seen", l), 0, EmbeddingOptions{Name: "in", Height: 10000, Dim: 32})
		state := Slice(GRU(seen.Rows, 64, GRUOptions{}), 1, l-1, l)
		next := Embedding(g.IDs("next", 1), EmbeddingOptions{Name: "out", Height: 10000, Dim: 64})
		return Mean(InBatchSoftmax(Reshape(state, 64), next, InBatchOptions{})),
			batchOf{"seen": someIDs(1, n, l), "next": someIDs(2, n, 1)}
	},
	"two_towers": func() (*Node, batchOf) {
		const n, k = 512, 4
		g := NewGraph(1)
		item := g.IDs("item", 1)
		tower := func(feed string) *Node {
			x := Embedding(g.IDs(feed, k), EmbeddingOptions{Name: feed + "s", Height: 10000, Dim: 16})
			return Linear(Linear(x, 64, LinearOptions{Act: ReLU}), 32, LinearOptions{})
		}
		o := InBatchOptions{Temperature: 0.1, LogQ: g.Input("log_q", 1), IDs: item}
		return Mean(InBatchSoftmax(tower("a"), tower("b"), o)), batchOf{"a": someIDs(1, n, k), "b": someIDs(2, n, k),
			"item": someIDs(3, n, 1), "log_q": floats([]int{n, 1}, uniform(4, n, -5, 0)...)}
	},
	"din": func() (*Node, batchOf) {
		const n, l, d = 256, 50, 16
		g := NewGraph(1)
		o := EmbeddingOptions{Name: "items", Height: 10000, Dim: d}
		seen, item := EmbeddingSequence(g.IDs("seen", l), 0, o), Embedding(g.IDs("item", 1), o)
		interest := DIN(item, seen.Rows, g.Input("mask", l), DINOptions{})
		h := Concat(interest, item, Multiply(interest, item))
		for _, size := range []int{200, 80} {
			h = Linear(h, size, LinearOptions{Act: ReLU})
		}
		loss := BinaryCrossEntropyWithLogits(Linear(h, 1, LinearOptions{}), g.Input("label", 1))
		return Mean(loss), batchOf{"seen": someIDs(1, n, l), "item": someIDs(2, n, 1), "mask": maskOf(n, l, 0.7),
			"label": maskOf(n, 1, 0.5)}
	},
	"conv": func() (*Node, batchOf) {
		const n = 64
		g := NewGraph(1)
		h := MaxPool2D(Conv2D(g.Input("x", 1, 28, 28), 16, ConvOptions{Kernel: 5, Act: ReLU}), PoolOptions{Kernel: 2})
		h = MaxPool2D(Conv2D(h, 32, ConvOptions{Kernel: 5, Act: ReLU}), PoolOptions{Kernel: 2})
		score := Linear(Reshape(h, 512), 10, LinearOptions{Act: Softmax})
		return Mean(CrossEntropy(score, g.IDs("label", 1))), batchOf{"x": floats([]int{n, 1, 28, 28}, uniform(1, n*784, 0, 1)...),
			"label": int64sOf([]int{n, 1}, integers(2, n, 10)...)}
	},
	"mmoe": func() (*Node, batchOf) {
		const n, d = 512, 64
		g := NewGraph(1)
		x := Add(g.Input("x", d), g.Parameter(ParameterOptions{}, d))
		tasks := MMoE(x, MMoEOptions{Experts: 4, Tasks: 2, Hidden: []int{128, 64}})
		for i, task := range tasks {
			tasks[i] = Linear(Linear(task, 32, LinearOptions{Act: ReLU}), 1, LinearOptions{})
		}
		return Mean(BinaryCrossEntropyWithLogits(Concat(tasks...), g.Input("label", 2))),
			batchOf{"x": floats([]int{n, d}, uniform(1, n*d, -1, 1)...), "label": maskOf(n, 2, 0.5)}
	},
}

func someIDs(seed uint32, n, k int) *tensor.Dense {
	return int64sOf([]int{n, k}, integers(seed, n*k, 10000)...)
}

// maskOf is 1 for such a share of the places, always at the first, and 0 at the others.
func maskOf(n, l int, share float32) *tensor.Dense {
	mask := uniform(9, n*l, 0, 1)
	for i, v := range mask {
		if mask[i] = 0; v < share || l > 1 && i%l == 0 {
			mask[i] = 1
		}
	}
	return floats([]int{n, l}, mask...)
}

// BenchmarkLayers is forward and backward of whole models: the mean step, and the fastest, which other processes disturb
// less. testdata/torch_steps.py times the same models in PyTorch.
func BenchmarkLayers(b *testing.B) {
	for name, model := range timedModels {
		b.Run(name, func(b *testing.B) {
			loss, feed := model()
			loss.Bind(still{})
			e, ctx, least := NewExecutor(loss.graph), b.Context(), math.Inf(1)
			if _, err := e.Train(ctx, feed, loss); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				began := time.Now()
				if _, err := e.Train(ctx, feed, loss); err != nil {
					b.Fatal(err)
				}
				least = min(least, time.Since(began).Seconds())
			}
			b.ReportMetric(least*1e3, "least-ms")
		})
	}
}
