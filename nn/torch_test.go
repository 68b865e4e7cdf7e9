package nn

import "maps"

// torchOps says how each case of torch_ops.json, which PyTorch computed, is written here.
var torchOps = map[string]func(*goldenCase) *Node{
	"broadcast_add": both(Add), "broadcast_subtract": both(Subtract), "broadcast_multiply": both(Multiply), "broadcast_divide": both(Divide),
	"expand": func(c *goldenCase) *Node { return Expand(c.batched(0), c.ints("dims")...) },
	"slice": func(c *goldenCase) *Node {
		return Slice(c.batched(0), int(c.attr("axis")), int(c.attr("begin")), int(c.attr("end")))
	},
	"concat_axis": func(c *goldenCase) *Node { return ConcatAxis(int(c.attr("axis")), c.batched(0), c.batched(1)) },
	"stack":       func(c *goldenCase) *Node { return Stack(int(c.attr("axis")), c.batched(0), c.batched(1)) },
	"transpose":   func(c *goldenCase) *Node { return Transpose(c.batched(0), c.ints("axes")...) },
	"log":         unary(Log), "log1p": unary(Log1p), "exp": unary(Exp), "sqrt": unary(Sqrt), "abs": unary(Abs), "square": unary(Square),
	"silu": unary(SiLU), "pow": func(c *goldenCase) *Node { return Pow(c.batched(0), c.attr32("power")) },
	"prelu":          func(c *goldenCase) *Node { return apply("", prelu{}, c.batched(0), c.fixed(1)) },
	"prelu_channels": func(c *goldenCase) *Node { return apply("", prelu{}, c.batched(0), Reshape(c.fixed(1), 3, 1, 1)) },
	"mean_axis1":     unary(func(x *Node) *Node { return MeanAxis(x, 1) }),
	"linear_last": func(c *goldenCase) *Node {
		return apply("", linear{PerPosition: true}, c.batched(0), Transpose(c.fixed(1), 1, 0), c.fixed(2))
	},
	"matmul_batch": both(MatMul), "matmul_transposed": both(MatMulT),
	"layer_norm_last": func(c *goldenCase) *Node {
		return apply("", layerNorm{Epsilon: c.attr32("epsilon"), Axis: 2}, c.batched(0), c.fixed(1), c.fixed(2))
	},
	"group_norm": func(c *goldenCase) *Node {
		return GroupNorm(c.batched(0), int(c.attr("groups")), NormOptions{Epsilon: c.attr32("epsilon")})
	},
	"masked_softmax": func(c *goldenCase) *Node {
		return MaskedSoftmax(c.batched(0), Reshape(c.mask(4), 1, 4))
	},
	"attention": func(c *goldenCase) *Node {
		o := AttentionOptions{Name: "a", Heads: int(c.attr("heads")), Mask: c.mask(5)}
		return Attention(c.batched(0), c.batched(1), c.batched(2), o)
	},
	"attention_causal": unary(func(x *Node) *Node { return Attention(x, x, x, AttentionOptions{Name: "a", Heads: 2, Causal: true}) }),
	"transformer": func(c *goldenCase) *Node {
		return TransformerEncoder(c.batched(0), TransformerOptions{Attention: AttentionOptions{Name: "t", Heads: 2, Causal: true},
			Hidden: int(c.attr("hidden")), NormFirst: c.Attrs["norm_first"].(bool)})
	},
	"mmoe": unary(func(x *Node) *Node {
		tasks := MMoE(x, MMoEOptions{Name: "m", Experts: 3, Tasks: 2, Hidden: []int{5}})
		return Add(tasks[0], Scale(tasks[1], 2, 0))
	}),
	"gru": unary(func(x *Node) *Node { return GRU(x, 4, GRUOptions{Name: "g"}) }),
	"din": func(c *goldenCase) *Node {
		o := DINOptions{Name: "d", Hidden: []int{4}, Act: Sigmoid, Softmax: c.Attrs["softmax"].(bool)}
		return DIN(c.batched(0), c.batched(1), c.mask(4), o)
	},
	"dice": unary(Dice), "fm": unary(FM),
	"lstm": unary(func(x *Node) *Node { return LSTM(x, 4, RecurrentOptions{Name: "l"}) }),
	"cross": func(c *goldenCase) *Node {
		return Cross(c.batched(0), CrossOptions{Name: "c", Layers: int(c.attr("layers")), Rank: int(c.attr("rank"))})
	},
	"gather": func(c *goldenCase) *Node { return Gather(c.batched(0), c.ids(1)) },
}

func init() { maps.Copy(goldenOps, torchOps) }

// mask is the attribute of that name, for two examples.
func (c *goldenCase) mask(places int) *Node {
	mask := make([]float32, 0, 2*places)
	for _, m := range c.ints("mask") {
		mask = append(mask, float32(m))
	}
	c.feed["mask"] = floats([]int{2, places}, mask...)
	return c.g.Input("mask", places)
}

// ints is an attribute that is a list of whole numbers.
func (c *goldenCase) ints(name string) []int {
	list, ok := c.Attrs[name].([]any)
	if !ok {
		c.missing = append(c.missing, name)
	}
	v := make([]int, len(list))
	for i, at := range list {
		v[i] = int(at.(float64))
	}
	return v
}
