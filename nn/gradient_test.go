package nn

import (
	"math"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// gradientCase is an op beside a float64 twin of it, written as simply as can be.
type gradientCase struct {
	name  string
	args  []arg
	build func(in []*Node) *Node
	twin  func(in [][]float64) []float64
}

// slotOffsets cut the ids of a slot into examples: 2, 0, 3 and 1 of them.
var slotOffsets = []int64{0, 2, 2, 5, 6}

// arg is an input of the op under test.
type arg struct {
	kind   argKind
	shape  []int // with the number of examples first, where there are examples
	lo, hi float64
}

type argKind int

const (
	examples     argKind = iota // values of N examples that have a gradient
	parameter                   // a parameter of a fixed shape
	labels                      // int64 below hi
	numbers                     // a float32 feed, without a gradient
	tableRows                   // rows to look up
	slot                        // ids of a slot of four examples, below hi
	ragged                      // ids of a slot of N examples, below hi
	raggedValues                // numbers beside them
)

func x(shape ...int) arg { return arg{examples, shape, -2, 2} }
func w(shape ...int) arg { return arg{parameter, shape, -1, 1} }

func (a arg) between(lo, hi float64) arg { a.lo, a.hi = lo, hi; return a }

// map1 is a twin of an elementwise function.
func map1(f func(float64) float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, len(in[0]))
		for i, x := range in[0] {
			y[i] = f(x)
		}
		return y
	}
}

// map2 is a twin of an elementwise function of two inputs.
func map2(f func(a, b float64) float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		y := make([]float64, len(in[0]))
		for i, x := range in[0] {
			y[i] = f(x, in[1][i])
		}
		return y
	}
}

// held is a function of the input and of what the input was at first, which differences leave as it was.
func held(f func(x, was float64) float64) func([][]float64) []float64 {
	var was []float64
	return func(in [][]float64) []float64 {
		if was == nil {
			was = slices.Clone(in[0])
		}
		return map2(f)([][]float64{in[0], was})
	}
}

// rowwise is a twin of a function of rows of cols elements.
func rowwise(cols int, f func(row []float64) []float64) func([][]float64) []float64 {
	return func(in [][]float64) []float64 {
		var y []float64
		for i := 0; i < len(in[0]); i += cols {
			y = append(y, f(in[0][i:i+cols])...)
		}
		return y
	}
}

func sigmoid64(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func softmax64(row []float64) []float64 {
	y, sum := make([]float64, len(row)), 0.0
	for i, v := range row {
		y[i] = math.Exp(v)
		sum += y[i]
	}
	for i := range y {
		y[i] /= sum
	}
	return y
}

func dot64(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// normal64 gives a row mean 0 and variance 1.
func normal64(row []float64, epsilon float64) []float64 {
	mean, variance, y := 0.0, 0.0, make([]float64, len(row))
	for _, v := range row {
		mean += v / float64(len(row))
	}
	for i, v := range row {
		y[i] = v - mean
		variance += y[i] * y[i] / float64(len(row))
	}
	for i := range y {
		y[i] /= math.Sqrt(variance + epsilon)
	}
	return y
}

// matmul64 is the product of an [n k] and a [k m] matrix.
func matmul64(a, b []float64, k, m int) []float64 {
	y := make([]float64, len(a)/k*m)
	for i := range y {
		for j := range k {
			y[i] += a[i/m*k+j] * b[j*m+i%m]
		}
	}
	return y
}

func one(f func(*Node) *Node) func([]*Node) *Node {
	return func(in []*Node) *Node { return f(in[0]) }
}

func two(f func(a, b *Node) *Node) func([]*Node) *Node {
	return func(in []*Node) *Node { return f(in[0], in[1]) }
}

var gradientCases = []gradientCase{
	{"relu", []arg{x(3, 4)}, one(ReLU), map1(func(x float64) float64 { return max(x, 0) })},
	{"tanh", []arg{x(3, 4)}, one(Tanh), map1(math.Tanh)},
	{"sigmoid", []arg{x(3, 4)}, one(Sigmoid), map1(sigmoid64)},
	{"softmax", []arg{x(5, 7)}, one(Softmax), rowwise(7, softmax64)},
	{"leaky_relu", []arg{x(3, 4)}, one(func(x *Node) *Node { return LeakyReLU(x, 0.2) }),
		map1(func(x float64) float64 { return max(x, 0.2*x) })},
	{"elu", []arg{x(3, 4)}, one(func(x *Node) *Node { return ELU(x, 0.7) }), map1(func(x float64) float64 {
		return max(x, 0) + 0.7*min(math.Exp(x)-1, 0)
	})},
	{"gelu", []arg{x(3, 4)}, one(GELU), map1(func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 })},
	{"swish", []arg{x(3, 4)}, one(Swish), map1(func(x float64) float64 { return x * sigmoid64(x) })},
	{"softplus", []arg{x(3, 4).between(-30, 30)}, one(Softplus), map1(func(x float64) float64 { return math.Log1p(math.Exp(x)) })},
	{"clip", []arg{x(3, 4)}, one(func(x *Node) *Node { return Clip(x, -0.5, 0.8) }),
		map1(func(x float64) float64 { return min(max(x, -0.5), 0.8) })},
	{"log_softmax", []arg{x(5, 7).between(-30, 30)}, one(LogSoftmax), rowwise(7, func(row []float64) []float64 {
		y := softmax64(row)
		for i := range y {
			y[i] = math.Log(y[i])
		}
		return y
	})},
	{"multiply", []arg{x(3, 4), x(3, 4)}, two(Multiply), map2(func(a, b float64) float64 { return a * b })},
	{"square", []arg{x(3, 4)}, one(func(x *Node) *Node { return Multiply(x, x) }), map1(func(x float64) float64 { return x * x })},
	{"divide", []arg{x(3, 4), x(3, 4).between(0.5, 2)}, two(Divide), map2(func(a, b float64) float64 { return a / b })},
	{"subtract", []arg{x(3, 4), x(3, 4)}, two(Subtract), map2(func(a, b float64) float64 { return a - b })},
	{"scale", []arg{x(3, 4)}, one(func(x *Node) *Node { return Scale(x, 3, -1) }), map1(func(x float64) float64 { return 3*x - 1 })},
	{"detach", []arg{x(3, 4)}, one(func(x *Node) *Node { return Multiply(x, Detach(x)) }),
		held(func(x, was float64) float64 { return x * was })},
	{"matmul", []arg{x(3, 4), w(4, 2)}, two(MatMul), func(in [][]float64) []float64 { return matmul64(in[0], in[1], 4, 2) }},
	{"sum of the middle", []arg{x(3, 4, 2)}, one(func(x *Node) *Node { return Sum(x, 1) }), rowwise(8, func(row []float64) []float64 {
		return []float64{row[0] + row[2] + row[4] + row[6], row[1] + row[3] + row[5] + row[7]}
	})},
	{"sum of the last", []arg{x(3, 2)}, one(func(x *Node) *Node { return Sum(x, 1) }), rowwise(2, func(row []float64) []float64 {
		return []float64{row[0] + row[1]}
	})},
	{"sum of a parameter", []arg{w(3, 2)}, one(func(x *Node) *Node { return Sum(x, 0) }), func(in [][]float64) []float64 {
		return []float64{in[0][0] + in[0][2] + in[0][4], in[0][1] + in[0][3] + in[0][5]}
	}},
	{"max", []arg{x(3, 3, 2)}, one(func(x *Node) *Node { return Max(x, 1) }), rowwise(6, func(row []float64) []float64 {
		return []float64{max(row[0], row[2], row[4]), max(row[1], row[3], row[5])}
	})},
	{"square_error", []arg{x(3, 2), x(3, 2)}, two(SquareError), map2(func(a, b float64) float64 { return (a - b) * (a - b) })},
	{"absolute_error", []arg{x(3, 2), x(3, 2)}, two(AbsoluteError), map2(func(a, b float64) float64 { return math.Abs(a - b) })},
	{"smooth_l1", []arg{x(6, 2), x(6, 2)}, two(func(a, b *Node) *Node { return SmoothL1(a, b, 0.8) }), map2(func(a, b float64) float64 {
		if d := math.Abs(a - b); d >= 0.8 {
			return 0.8 * (d - 0.4)
		}
		return (a - b) * (a - b) / 2
	})},
	{"binary_cross_entropy", []arg{x(5, 1).between(0.02, 0.98), {numbers, []int{5, 1}, 0, 1}}, two(BinaryCrossEntropy),
		map2(func(p, y float64) float64 { return -y*math.Log(p) - (1-y)*math.Log(1-p) })},
	{"binary_cross_entropy_with_logits", []arg{x(5, 1).between(-20, 20), {numbers, []int{5, 1}, 0, 1}}, two(BinaryCrossEntropyWithLogits),
		map2(func(x, y float64) float64 { return -y*math.Log(sigmoid64(x)) - (1-y)*math.Log(sigmoid64(-x)) })},
	{"softmax_with_cross_entropy", []arg{x(4, 3).between(-30, 30), {labels, []int{4, 1}, 0, 3}}, two(SoftmaxWithCrossEntropy),
		func(in [][]float64) []float64 {
			var y []float64
			for i, label := range in[1] {
				y = append(y, -math.Log(softmax64(in[0][3*i : 3*i+3])[int(label)]))
			}
			return y
		}},
	{"layer_norm", []arg{x(4, 3, 2), w(6), w(6)}, func(in []*Node) *Node { return apply("", layerNorm{Epsilon: 1e-3}, in...) },
		func(in [][]float64) []float64 {
			var y []float64
			for r := range 4 {
				y = append(y, normal64(in[0][6*r:6*r+6], 1e-3)...)
			}
			for i := range y {
				y[i] = y[i]*in[1][i%6] + in[2][i%6]
			}
			return y
		}},
	{"cosine_similarity", []arg{x(3, 4), x(3, 4)}, two(CosineSimilarity), func(in [][]float64) []float64 {
		var y []float64
		for r := range 3 {
			a, b := in[0][4*r:4*r+4], in[1][4*r:4*r+4]
			y = append(y, dot64(a, b)/math.Sqrt(dot64(a, a)*dot64(b, b)))
		}
		return y
	}},
	{"cosine_similarity of nothing", []arg{x(3, 4).between(0, 1e-7), x(3, 4).between(0, 1e-7)}, two(CosineSimilarity), func(in [][]float64) []float64 {
		var y []float64
		for r := range 3 {
			y = append(y, dot64(in[0][4*r:4*r+4], in[1][4*r:4*r+4])/1e-8)
		}
		return y
	}},
	{"dot", []arg{x(3, 4), x(3, 2, 4)}, two(Dot), func(in [][]float64) []float64 {
		var y []float64
		for i := range 6 {
			y = append(y, dot64(in[0][i/2*4:i/2*4+4], in[1][4*i:4*i+4]))
		}
		return y
	}},
	{name: "embedding", args: []arg{{labels, []int{3, 2}, 0, 4}, {tableRows, []int{4, 3}, -1, 1}},
		build: two(func(ids, table *Node) *Node { return apply("", embedding{}, ids, table) }), twin: lookup64(3, -1)},
	{name: "embedding with padding", args: []arg{{labels, []int{8, 2}, 0, 4}, {tableRows, []int{4, 3}, -1, 1}},
		build: two(func(ids, table *Node) *Node { return apply("", embedding{padded{new(int64(2))}}, ids, table) }), twin: lookup64(3, 2)},
	{name: "embedding_pool sum", args: poolArgs, build: pooling(PoolSum, nil), twin: pool64(-1, func(n float64) float64 { return 1 })},
	{name: "embedding_pool mean", args: poolArgs, build: pooling(PoolMean, nil), twin: pool64(-1, func(n float64) float64 { return 1 / n })},
	{name: "embedding_pool sqrtn", args: poolArgs, build: pooling(PoolSqrtN, nil), twin: pool64(-1, func(n float64) float64 { return 1 / math.Sqrt(n) })},
	{name: "embedding_pool with padding", args: poolArgs, build: pooling(PoolMean, new(int64(3))), twin: pool64(3, func(n float64) float64 { return 1 / n })},
	{name: "embedding_pool mean_unpadded", args: poolArgs, build: pooling(PoolMeanUnpadded, new(int64(3))), twin: unpadded64(3)},
	{name: "embedding_pool mean_unpadded of all", args: poolArgs, build: pooling(PoolMeanUnpadded, nil), twin: unpadded64(-1)},
	{name: "batch_norm", args: []arg{x(5, 3), w(3), w(3)}, build: batchNormed, twin: batchNorm64(3, 1)},
	{name: "batch_norm of images", args: []arg{x(3, 2, 2, 2), w(2), w(2)}, build: batchNormed, twin: batchNorm64(2, 4)},
	{name: "conv2d", args: []arg{x(2, 2, 5, 4), w(3, 2, 3, 3), w(3)},
		build: func(in []*Node) *Node { return apply("", conv2d{window: window{3, 2, 1}}, in...) }, twin: conv64},
	{name: "max_pool2d", args: []arg{x(2, 2, 5, 5)}, build: one(func(x *Node) *Node { return MaxPool2D(x, PoolOptions{Kernel: 3, Stride: 2, Padding: 1}) }),
		twin: windows64(func(v []float64) float64 { return slices.Max(v) })},
	{name: "avg_pool2d", args: []arg{x(2, 2, 5, 5)}, build: one(func(x *Node) *Node { return AvgPool2D(x, PoolOptions{Kernel: 3, Stride: 2, Padding: 1}) }),
		twin: windows64(func(v []float64) float64 {
			s := 0.0
			for _, x := range v {
				s += x
			}
			return s / float64(len(v))
		})},
	{"mean", []arg{x(5, 3)}, one(Mean), func(in [][]float64) []float64 {
		sum := 0.0
		for _, v := range in[0] {
			sum += v
		}
		return []float64{sum / float64(len(in[0]))}
	}},
	{"linear", []arg{x(6, 5), w(5, 3), w(3)},
		func(in []*Node) *Node { return apply("", linear{}, in...) },
		func(in [][]float64) []float64 {
			y := matmul64(in[0], in[1], 5, 3)
			for i := range y {
				y[i] += in[2][i%3]
			}
			return y
		}},
	{"linear flat without bias", []arg{x(2, 3, 2), w(6, 4)},
		func(in []*Node) *Node { return apply("", linear{}, in...) },
		func(in [][]float64) []float64 { return matmul64(in[0], in[1], 6, 4) }},
	{"linear then relu in place", []arg{x(6, 5), w(5, 3)},
		func(in []*Node) *Node { return ReLU(apply("", linear{}, in...)) },
		func(in [][]float64) []float64 {
			return map1(func(x float64) float64 { return max(x, 0) })([][]float64{matmul64(in[0], in[1], 5, 3)})
		}},
	{"concat", []arg{x(3, 2), x(3, 1), x(3, 4)}, func(in []*Node) *Node { return Concat(in...) },
		func(in [][]float64) []float64 {
			var y []float64
			for i := range 3 {
				y = append(append(append(y, in[0][2*i:2*i+2]...), in[1][i]), in[2][4*i:4*i+4]...)
			}
			return y
		}},
	{"reshape", []arg{x(3, 4, 2)}, func(in []*Node) *Node { return Reshape(in[0], 2, 4) }, map1(func(x float64) float64 { return x })},
	{"add", []arg{x(3, 4), x(3, 4)}, two(Add), map2(func(a, b float64) float64 { return a + b })},
	{"add bias", []arg{x(3, 4), w(4)}, two(Add), func(in [][]float64) []float64 {
		return map2(func(a, b float64) float64 { return a + b })([][]float64{in[0], append(append(in[1], in[1]...), in[1]...)})
	}},
	{"log_loss", []arg{x(5, 1).between(0.02, 0.98), {numbers, []int{5, 1}, 0, 1}}, two(LogLoss),
		map2(func(p, y float64) float64 { return -y*math.Log(p+1e-4) - (1-y)*math.Log(1-p+1e-4) })},
	{"log_loss of int64", []arg{x(5, 1).between(0.02, 0.98), {labels, []int{5, 1}, 0, 2}}, two(LogLoss),
		map2(func(p, y float64) float64 { return -y*math.Log(p+1e-4) - (1-y)*math.Log(1-p+1e-4) })},
	{"binary_cross_entropy of int64", []arg{x(5, 2).between(0.02, 0.98), {labels, []int{5, 2}, 0, 2}}, two(BinaryCrossEntropy),
		map2(func(p, y float64) float64 { return -y*math.Log(p) - (1-y)*math.Log(1-p) })},
	{"binary_cross_entropy_with_logits of int64", []arg{x(5, 2).between(-20, 20), {labels, []int{5, 2}, 0, 2}}, two(BinaryCrossEntropyWithLogits),
		map2(func(x, y float64) float64 { return -y*math.Log(sigmoid64(x)) - (1-y)*math.Log(sigmoid64(-x)) })},
	{"cast to float32", []arg{x(3, 4), {labels, []int{3, 4}, -3, 9}}, two(func(x, y *Node) *Node { return Multiply(x, Cast(y, Float32)) }),
		map2(func(x, y float64) float64 { return x * y })},
	{"cast to int64", []arg{x(3, 4), {numbers, []int{3, 4}, -9, 9}},
		two(func(x, y *Node) *Node { return Multiply(x, Cast(Cast(y, Int64), Float32)) }),
		map2(func(x, y float64) float64 { return x * math.Trunc(y) })},
	{"custom", []arg{x(3, 4), w(4)}, two(func(x, y *Node) *Node { return Custom(cubes{Times: 2}, x, y) }), func(in [][]float64) []float64 {
		y := make([]float64, len(in[0]))
		for i, x := range in[0] {
			y[i] = 2 * x * x * x * in[1][i%len(in[1])]
		}
		return y
	}},
	{"cast has no gradient", []arg{x(3, 4).between(0.1, 0.9)}, one(func(x *Node) *Node { return Add(x, Cast(Cast(Scale(x, 3, 0), Int64), Float32)) }),
		map1(func(x float64) float64 { return x + math.Trunc(3*x) })},
	{"cross_entropy", []arg{x(4, 3).between(0.1, 0.9), {labels, []int{4, 1}, 0, 3}}, two(CrossEntropy),
		func(in [][]float64) []float64 {
			var y []float64
			for i, label := range in[1] {
				y = append(y, -math.Log(in[0][3*i+int(label)]))
			}
			return y
		}},
	{"nce without expected counts", []arg{x(4, 3).between(-20, 20)}, one(func(x *Node) *Node { return NCE(x, nil) }),
		rowwise(3, func(row []float64) []float64 { return []float64{nce64(row)} })},
	{"nce", []arg{x(4, 5), {numbers, []int{4, 5}, -3, 1}}, two(NCE), func(in [][]float64) []float64 {
		return rowwise(5, func(row []float64) []float64 { return []float64{nce64(row)} })([][]float64{minus64(in[0], in[1])})
	}},
	{"sampled_softmax", []arg{x(6, 5).between(-20, 20), {numbers, []int{6, 5}, -3, 1}, {labels, []int{6, 5}, 0, 6}},
		func(in []*Node) *Node { return SampledSoftmax(in[0], in[1], in[2]) }, sampledSoftmax64},
}

// draw gives the argument values that float32 holds too.
func (a arg) draw(seed uint32) []float64 {
	n := product(a.shape)
	if a.kind == ragged || a.kind == raggedValues {
		n = int(raggedOffsets(n)[n])
	}
	v := wide(uniform(seed, n, a.lo, a.hi))
	for i := range v {
		if a.kind == labels || a.kind == slot || a.kind == ragged {
			v[i] = math.Floor(v[i])
		}
	}
	return v
}

func wide(v []float32) []float64 {
	d := make([]float64, len(v))
	for i, x := range v {
		d[i] = float64(x)
	}
	return d
}

func narrow(v []float64) []float32 {
	f := make([]float32, len(v))
	for i, x := range v {
		f[i] = float32(x)
	}
	return f
}

// node makes the argument a node of the graph.
func (a arg) node(g *Graph, feed batchOf, name string, v []float64) *Node {
	n, rest := a.shape[0], a.shape[1:]
	switch a.kind {
	case parameter:
		return g.Parameter(ParameterOptions{Name: name, Init: optimizer.Assign(narrow(v))}, a.shape...)
	case tableRows:
		return g.table(EmbeddingOptions{Name: name, Height: n, Dim: product(rest), Init: optimizer.Assign(narrow(v))})
	case slot:
		feed[name], feed[name+".offsets"] = int64sOf(a.shape, whole(v)...), int64sOf([]int{len(slotOffsets)}, slotOffsets...)
		return g.Slot(name)
	case ragged:
		offsets := raggedOffsets(n)
		feed[name], feed[name+".offsets"] = int64sOf([]int{len(v)}, whole(v)...), int64sOf([]int{n + 1}, offsets...)
		return g.Slot(name)
	case raggedValues:
		offsets := raggedOffsets(n)
		feed[name], feed[name+".offsets"] = floats([]int{len(v)}, narrow(v)...), int64sOf([]int{n + 1}, offsets...)
		return g.SlotValues(name)
	case numbers:
		feed[name] = floats(a.shape, narrow(v)...)
		return g.Input(name, rest...)
	case labels:
		feed[name] = int64sOf(a.shape, whole(v)...)
		return g.IDs(name, rest...)
	}
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	feed[name+".ids"] = int64sOf([]int{n}, ids...)
	x := Embedding(g.IDs(name+".ids"), EmbeddingOptions{Name: name, Height: n, Dim: product(rest), Init: optimizer.Assign(narrow(v))})
	if len(rest) != 1 {
		x = Reshape(x, rest...)
	}
	return x
}

func whole(v []float64) []int64 {
	ids := make([]int64, len(v))
	for i := range v {
		ids[i] = int64(v[i])
	}
	return ids
}
