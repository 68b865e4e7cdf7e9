package onnx

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
)

// recipe makes the ONNX nodes for a node of nn, and returns the node's value.
type recipe func(b *builder, n node, attrs json.RawMessage) value

// exported are the ops of nn that can be written, by kind, besides feeds and params.
var exported = map[string]recipe{
	"linear":       with(linear),
	"matmul":       same("MatMul"),
	"batch_matmul": with(batchMatMul),
	"dot":          formula(dot),
	"pairs":        formula(pairs),
	"head_scores":  with(headScores),
	"head_mix":     with(headMix),

	"relu":     same("Relu"),
	"tanh":     same("Tanh"),
	"sigmoid":  same("Sigmoid"),
	"softplus": same("Softplus"),
	"log":      same("Log"),
	"exp":      same("Exp"),
	"sqrt":     same("Sqrt"),
	"abs":      same("Abs"),
	"log1p":    formula(func(b *builder, n node) value { return b.op("Log", b.op("Add", n.in[0].value, b.float(1))) }),
	"square":   formula(func(b *builder, n node) value { return b.op("Mul", n.in[0].value, n.in[0].value) }),
	"swish": formula(func(b *builder, n node) value {
		return b.op("Mul", n.in[0].value, b.op("Sigmoid", n.in[0].value))
	}),
	"gelu": formula(gelu),
	"leaky_relu": with(func(b *builder, n node, a struct{ Slope float32 }) value {
		return b.op("LeakyRelu", n.in[0].value, attr("alpha", a.Slope))
	}),
	"elu": with(func(b *builder, n node, a struct{ Alpha float32 }) value {
		return b.op("Elu", n.in[0].value, attr("alpha", a.Alpha))
	}),
	"pow": with(func(b *builder, n node, a struct{ Power float32 }) value {
		return b.op("Pow", n.in[0].value, b.float(a.Power))
	}),
	"clip": with(func(b *builder, n node, a struct{ Low, High float32 }) value {
		return b.op("Clip", n.in[0].value, b.float(a.Low), b.float(a.High))
	}),
	"scale": with(func(b *builder, n node, a struct{ Scale, Bias float32 }) value {
		return b.op("Add", b.op("Mul", n.in[0].value, b.float(a.Scale)), b.float(a.Bias))
	}),
	"prelu": formula(func(b *builder, n node) value {
		return b.op("PRelu", n.in[0].value, b.fit(n.in[1], n.shape))
	}),
	"dice": with(dice),

	"add":      pairwise("Add"),
	"subtract": pairwise("Sub"),
	"multiply": pairwise("Mul"),
	"divide":   pairwise("Div"),
	"expand": with(func(b *builder, n node, _ struct{ Dims []int }) value {
		shape := slices.Clone(n.shape)
		shape[0] = max(shape[0], 1) // 1 is repeated to the number of examples
		return b.op("Expand", b.fit(n.in[0], n.shape), b.ints(wide(shape)...))
	}),
	"sum": with(func(b *builder, n node, a struct{ Axis int64 }) value {
		return b.scalar(n, b.sum(n.in[0].value, a.Axis))
	}),
	"max": with(func(b *builder, n node, a struct{ Axis int64 }) value {
		return b.scalar(n, b.largest(n.in[0].value, a.Axis))
	}),
	"cosine_similarity": formula(cosine),

	"softmax":        same("Softmax", attr("axis", -1)),
	"log_softmax":    same("LogSoftmax", attr("axis", -1)),
	"masked_softmax": with(maskedSoftmax),

	"concat": with(concat),
	"slice": with(func(b *builder, n node, a struct{ Axis, From, To int64 }) value {
		return b.slice(n.in[0].value, a.Axis, a.From, a.To)
	}),
	"gather": formula(gather),
	"transpose": with(func(b *builder, n node, a struct{ Axes []int64 }) value {
		return b.op("Transpose", n.in[0].value, attr("perm", a.Axes))
	}),
	"reshape": with(func(b *builder, n node, _ struct{ Dims []int }) value {
		return b.reshape(n.in[0].value, n.shape...)
	}),
	"cast": with(func(b *builder, n node, a struct{ To string }) value {
		return b.cast(n.in[0].value, map[string]elementType{"float32": float32Type, "int64": int64Type}[a.To])
	}),
	"detach":  formula(func(_ *builder, n node) value { return n.in[0].value }),
	"dropout": with(func(_ *builder, n node, _ struct{ P float32 }) value { return n.in[0].value }),

	"conv1d":     with(conv1d),
	"conv2d":     with(conv2d),
	"max_pool2d": with(func(b *builder, n node, a windowAttrs) value { return b.op("MaxPool", a.parts(n)...) }),
	"avg_pool2d": with(func(b *builder, n node, a windowAttrs) value {
		return b.op("AveragePool", append(a.parts(n), attr("count_include_pad", 0))...)
	}),
	"batch_norm": with(batchNorm),
	"layer_norm": with(layerNorm),

	"embedding":          with(embedding),
	"embedding_pool":     with(embeddingPool),
	"embedding_sequence": with(embeddingSequence),
	"sequence_mask":      with(sequenceMask),
	"sequence_pool":      with(sequencePool),
	"gru":                with(gru),
	"lstm":               with(lstm),
}

// with is a recipe of an op with attributes. Attributes without a field in T are an error, so that none is ignored.
func with[T any](f func(b *builder, n node, attrs T) value) recipe {
	return func(b *builder, n node, attrs json.RawMessage) value {
		var a T
		if len(attrs) > 0 {
			d := json.NewDecoder(bytes.NewReader(attrs))
			d.DisallowUnknownFields()
			if err := d.Decode(&a); err != nil {
				b.fail("attributes %s: %w", attrs, err)
				return ""
			}
		}
		return f(b, n, a)
	}
}

// formula is a recipe of an op without attributes.
func formula(f func(b *builder, n node) value) recipe {
	return with(func(b *builder, n node, _ struct{}) value { return f(b, n) })
}

// same is a recipe for one ONNX node with the same inputs.
func same(op string, attrs ...part) recipe {
	return formula(func(b *builder, n node) value { return b.op(op, append(n.values(), attrs...)...) })
}

// pairwise is a recipe for arithmetic on two inputs that are repeated to fit each other.
func pairwise(op string) recipe {
	return formula(func(b *builder, n node) value { return b.op(op, b.fit(n.in[0], n.shape), b.fit(n.in[1], n.shape)) })
}

// scalar returns a value without its last axis, which nn keeps with size 1.
func (b *builder) scalar(n node, v value) value {
	if len(n.in[0].shape) > 1 {
		return v
	}
	return b.reshape(v, 1)
}

func linear(b *builder, n node, a struct {
	PerPosition bool `json:"per_position"`
}) value {
	x := n.in[0].value
	if rows := n.in[0].shape; !a.PerPosition && len(rows) != 2 {
		x = b.reshape(x, rows[0], n.in[1].shape[0])
	}
	return b.biased(b.op("MatMul", x, n.in[1].value), n)
}

func batchMatMul(b *builder, n node, a struct{ Transposed bool }) value {
	y := n.in[1].value
	if a.Transposed {
		perm := make([]int64, len(n.shape))
		for i := range perm {
			perm[i] = int64(i)
		}
		last := len(perm) - 1
		perm[last], perm[last-1] = perm[last-1], perm[last]
		y = b.op("Transpose", y, attr("perm", perm))
	}
	return b.op("MatMul", n.in[0].value, y)
}

// dot multiplies the candidates, as rows, by a query, as a column.
func dot(b *builder, n node) value {
	dim := width(n.in[0])
	query, rows := b.reshape(n.in[0].value, -1, dim, 1), b.reshape(n.in[1].value, -1, n.shape[1], dim)
	return b.reshape(b.op("MatMul", rows, query), n.shape...)
}

// width is the number of elements of an example.
func width(n node) int {
	w := 1
	for _, d := range n.shape[1:] {
		w *= d
	}
	return w
}

func pairs(b *builder, n node) value {
	q, k := b.unsqueeze(n.in[0].value, 1), n.in[1].value
	spread := b.op("Expand", q, b.ints(1, int64(n.shape[1]), 1))
	return b.op("Concat", spread, k, b.op("Sub", q, k), b.op("Mul", q, k), attr("axis", 2))
}

// heads divides the columns of [N L D] to [N heads L D/heads], in the order of perm.
func (b *builder) heads(x node, heads int, perm ...int64) value {
	cut := b.reshape(x.value, -1, x.shape[1], heads, x.shape[2]/heads)
	return b.op("Transpose", cut, attr("perm", perm))
}

func headScores(b *builder, n node, a struct{ Heads int }) value {
	return b.op("MatMul", b.heads(n.in[0], a.Heads, 0, 2, 1, 3), b.heads(n.in[1], a.Heads, 0, 2, 3, 1))
}

func headMix(b *builder, n node, a struct{ Heads int }) value {
	mixed := b.op("MatMul", n.in[0].value, b.heads(n.in[1], a.Heads, 0, 2, 1, 3))
	return b.reshape(b.op("Transpose", mixed, attr("perm", []int64{0, 2, 1, 3})), n.shape...)
}

// gelu is x/2·(1 + erf(x/√2)).
func gelu(b *builder, n node) value {
	x := n.in[0].value
	erf := b.op("Erf", b.op("Mul", x, b.float(1/math.Sqrt2)))
	return b.op("Mul", b.op("Mul", x, b.float(0.5)), b.op("Add", erf, b.float(1)))
}

// cosine computes in float64, because squares of small numbers leave the range of float32.
func cosine(b *builder, n node) value {
	shape := []int{-1, width(n.in[0])}
	wide := func(v value) value { return b.cast(b.reshape(v, shape...), float64Type) }
	x, y := wide(n.in[0].value), wide(n.in[1].value)
	product := func(x, y value) value { return b.sum(b.op("Mul", x, y), 1) }
	lengths := b.op("Sqrt", b.op("Mul", product(x, x), product(y, y)))
	return b.reshape(b.cast(b.op("Div", product(x, y), b.op("Max", lengths, b.double(1e-8))), float32Type), -1, 1)
}

// lowest is below all scores, and finite, so that differences are finite or infinite, not NaN.
const lowest = -math.MaxFloat32

func maskedSoftmax(b *builder, n node, a struct{ Causal bool }) value {
	var kept value
	if len(n.in) > 1 {
		kept = b.isNot(b.fit(n.in[1], n.shape), b.float(0))
	}
	if a.Causal {
		index := func(axis int) value { // the index of an element along one of the last axes
			return b.op("Range", b.int(0), b.int(int64(n.shape[len(n.shape)-axis])), b.int(1))
		}
		before := b.op("LessOrEqual", index(1), b.unsqueeze(index(2), 1))
		if kept != "" {
			before = b.op("And", kept, before)
		}
		kept = before
	}
	x := n.in[0].value
	if kept == "" {
		return b.op("Softmax", x, attr("axis", -1))
	}
	p := b.op("Softmax", b.where(kept, x, b.float(lowest)), attr("axis", -1))
	return b.where(kept, p, b.float(0))
}

func concat(b *builder, n node, a struct{ Axis int }) value {
	if a.Axis == 0 {
		a.Axis = len(n.shape) - 1
	}
	return b.op("Concat", append(n.values(), attr("axis", a.Axis))...)
}

func gather(b *builder, n node) value {
	ids := b.unsqueeze(b.noNegative(n.in[1].value, int64(n.in[0].shape[1])), -1)
	return b.op("GatherND", n.in[0].value, ids, attr("batch_dims", 1))
}

// noNegative replaces ids below 0, which ONNX would count from the end, by behind, which runtimes reject.
func (b *builder) noNegative(ids value, behind int64) value {
	return b.where(b.op("Less", ids, b.int(0)), b.int(behind), ids)
}
