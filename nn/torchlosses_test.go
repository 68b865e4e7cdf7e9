package nn

import (
	"maps"

	"github.com/gofleet/gofleet/optimizer"
)

// torchLosses says how the losses and sequences of torch_ops.json are written here.
var torchLosses = map[string]func(*goldenCase) *Node{
	"focal_loss": func(c *goldenCase) *Node {
		return FocalLoss(c.batched(0), c.ids(1), c.attr32("gamma"), c.attr32("alpha"))
	},
	"hinge":       func(c *goldenCase) *Node { return Hinge(c.batched(0), c.ids(1)) },
	"contrastive": func(c *goldenCase) *Node { return Contrastive(c.batched(0), c.ids(1), c.attr32("margin")) },
	"huber":       func(c *goldenCase) *Node { return SmoothL1(c.batched(0), c.batched(1), c.attr32("delta")) },
	"bpr":         both(BPR),
	"cross_entropy_smoothed": func(c *goldenCase) *Node {
		return SoftmaxWithCrossEntropyOf(c.batched(0), c.ids(1), CrossEntropyOptions{Smoothing: c.attr32("smoothing")})
	},
	"cross_entropy_ignoring": func(c *goldenCase) *Node {
		return SoftmaxWithCrossEntropyOf(c.batched(0), c.ids(1), CrossEntropyOptions{Ignore: new(int64(c.attr("ignore")))})
	},
	"cross_entropy_soft": func(c *goldenCase) *Node { return SoftmaxWithCrossEntropy(c.batched(0), c.numbers("shares", 4, 5)) },
	"cross_entropy_weighted": func(c *goldenCase) *Node {
		o := ClassWeightOptions{Ignore: new(int64(c.attr("ignore")))}
		for _, w := range c.Attrs["weights"].([]any) {
			o.Weights = append(o.Weights, float32(w.(float64)))
		}
		label := c.ids(1)
		return WeightedMean(SoftmaxWithCrossEntropyOf(c.batched(0), label, CrossEntropyOptions{Ignore: o.Ignore}), ClassWeights(label, o))
	},
	"cross_entropy_of_steps": func(c *goldenCase) *Node { return SoftmaxWithCrossEntropy(c.batched(0), c.ids(1)) },
	"in_batch_softmax": func(c *goldenCase) *Node {
		return InBatchSoftmax(c.batched(0), c.batched(1),
			InBatchOptions{Temperature: c.attr32("temperature"), LogQ: c.numbers("log_q", 4, 1), IDs: c.ids(2)})
	},
	"embedding_sequence": func(c *goldenCase) *Node {
		in := c.Inputs[1]
		return EmbeddingSequence(c.ids(0), 0, EmbeddingOptions{Name: "in1", Height: in.Shape[0], Dim: in.Shape[1],
			PaddingIdx: new(int64(c.attr("padding_idx"))), Init: optimizer.Assign(in.Data)}).Rows
	},
	"embedding_bag": func(c *goldenCase) *Node {
		if c.Attrs["values"] == nil {
			return c.pooled()
		}
		pooled := c.pooled()
		c.numbers("values", 6)
		c.feed["weights"], c.feed["weights.offsets"] = c.feed["values"], c.feed["slot.offsets"]
		return apply("", pooled.op, append(pooled.in, c.g.SlotValues("weights"))...)
	},
	"conv2d_of": func(c *goldenCase) *Node {
		at := func(name string) int { return int(c.attr(name)) }
		return apply("", conv2d{window{at("kernel"), at("stride"), at("padding")}, at("width"), at("dilation"), at("groups"), at("same") == 1},
			c.batched(0), c.fixed(1), c.fixed(2))
	},
	"conv1d": func(c *goldenCase) *Node {
		return conv1d(conv2d{window: window{int(c.attr("kernel")), 1, 0}, Width: 1, Same: true})([]*Node{c.batched(0), c.fixed(1), c.fixed(2)})
	},
	"conv1d_of_places": func(c *goldenCase) *Node {
		filters := c.fixed(1)
		columns := Reshape(Transpose(filters, 2, 1, 0), product(filters.shape[1:]), filters.shape[0])
		return apply("", sliding{int(c.attr("kernel")), int(c.attr("dilation"))}, c.batched(0), columns, c.fixed(2))
	},
	"global_avg": unary(GlobalAvgPool2D), "global_max": unary(GlobalMaxPool2D),
	"pool_masked_mean": func(c *goldenCase) *Node { return SequencePool(c.batched(0), c.numbers("mask", 2, 3), PoolMean) },
	"pool_masked_max":  func(c *goldenCase) *Node { return SequencePool(c.batched(0), c.numbers("mask", 2, 3), PoolMax) },
}

func init() { maps.Copy(goldenOps, torchLosses) }

// numbers is a feed of an attribute that is a list of numbers, or of lists.
func (c *goldenCase) numbers(name string, shape ...int) *Node {
	var all []float32
	var take func(v any)
	take = func(v any) {
		if n, ok := v.(float64); ok {
			all = append(all, float32(n))
			return
		}
		for _, v := range v.([]any) {
			take(v)
		}
	}
	take(c.Attrs[name])
	c.feed[name] = floats(shape, all...)
	return c.g.Input(name, shape[1:]...)
}
