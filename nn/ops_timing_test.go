package nn

import "testing"

// timed is an op on a batch of a usual size.
type timed struct {
	name  string
	shape []int // of x, the number of examples first
	build func(x *Node) *Node
}

var timedOps = []timed{
	{"relu", []int{512, 400}, ReLU},
	{"tanh", []int{512, 400}, Tanh},
	{"sigmoid", []int{512, 400}, Sigmoid},
	{"softmax", []int{512, 400}, Softmax},
	{"log_softmax", []int{512, 400}, LogSoftmax},
	{"leaky_relu", []int{512, 400}, func(x *Node) *Node { return LeakyReLU(x, 0.01) }},
	{"elu", []int{512, 400}, func(x *Node) *Node { return ELU(x, 1) }},
	{"gelu", []int{512, 400}, GELU},
	{"swish", []int{512, 400}, Swish},
	{"softplus", []int{512, 400}, Softplus},
	{"clip", []int{512, 400}, func(x *Node) *Node { return Clip(x, -1, 1) }},
	{"scale", []int{512, 400}, func(x *Node) *Node { return Scale(x, 2, 1) }},
	{"add", []int{512, 400}, func(x *Node) *Node { return Add(x, Scale(x, 2, 1)) }},
	{"multiply", []int{512, 400}, func(x *Node) *Node { return Multiply(x, x) }},
	{"divide", []int{512, 400}, func(x *Node) *Node { return Divide(x, x) }},
	{"sum", []int{512, 26, 10}, func(x *Node) *Node { return Sum(x, 1) }},
	{"max", []int{512, 26, 10}, func(x *Node) *Node { return Max(x, 1) }},
	{"dropout", []int{512, 400}, func(x *Node) *Node { return Dropout(x, 0.5) }},
	{"layer_norm", []int{512, 400}, func(x *Node) *Node { return LayerNorm(x, NormOptions{}) }},
	{"batch_norm", []int{512, 400}, func(x *Node) *Node { return BatchNorm(x, NormOptions{}) }},
	{"batch_norm of images", []int{64, 16, 14, 14}, func(x *Node) *Node { return BatchNorm(x, NormOptions{}) }},
	{"conv2d", []int{64, 6, 14, 14}, func(x *Node) *Node { return Conv2D(x, 16, ConvOptions{Kernel: 5}) }},
	{"max_pool2d", []int{64, 16, 28, 28}, func(x *Node) *Node { return MaxPool2D(x, PoolOptions{Kernel: 2}) }},
	{"avg_pool2d", []int{64, 16, 28, 28}, func(x *Node) *Node { return AvgPool2D(x, PoolOptions{Kernel: 2}) }},
	{"cosine_similarity", []int{512, 400}, func(x *Node) *Node { return CosineSimilarity(x, Scale(x, 2, 1)) }},
	{"dot", []int{512, 100}, func(x *Node) *Node { return Dot(x, Concat(x, x, x)) }},
	{"square_error", []int{512, 400}, func(x *Node) *Node { return SquareError(x, Scale(x, 2, 1)) }},
	{"absolute_error", []int{512, 400}, func(x *Node) *Node { return AbsoluteError(x, Scale(x, 2, 1)) }},
	{"smooth_l1", []int{512, 400}, func(x *Node) *Node { return SmoothL1(x, Scale(x, 2, 1), 1) }},
	{"log_loss", []int{512, 400}, func(x *Node) *Node { return LogLoss(x, Detach(x)) }},
	{"binary_cross_entropy", []int{512, 400}, func(x *Node) *Node { return BinaryCrossEntropy(x, Detach(x)) }},
	{"binary_cross_entropy_with_logits", []int{512, 400}, func(x *Node) *Node { return BinaryCrossEntropyWithLogits(x, Detach(x)) }},
	{"softmax_with_cross_entropy", []int{512, 400}, func(x *Node) *Node { return SoftmaxWithCrossEntropy(x, x.graph.IDs("label", 1)) }},
	{"nce", []int{512, 100}, func(x *Node) *Node { return NCE(x, nil) }},
	{"multiply rows by weights", []int{512, 50, 16}, func(x *Node) *Node { return Multiply(x, Slice(x, 2, 0, 1)) }},
	{"add positions", []int{512, 50, 16}, func(x *Node) *Node { return Add(x, x.graph.Parameter(ParameterOptions{}, 50, 16)) }},
	{"matmul", []int{128, 50, 64}, func(x *Node) *Node { return MatMul(MatMulT(x, x), x) }},
	{"masked_softmax", []int{128, 50, 50}, func(x *Node) *Node { return MaskedSoftmax(x, Slice(x, 1, 0, 1)) }},
	{"layer_norm per position", []int{128, 50, 64}, func(x *Node) *Node { return LayerNorm(x, NormOptions{Axis: 2}) }},
	{"transpose", []int{128, 50, 4, 16}, func(x *Node) *Node { return Transpose(x, 0, 2, 1, 3) }},
	{"prelu", []int{512, 400}, PReLU},
	{"log", []int{512, 400}, Log},
	{"gru", []int{128, 20, 32}, func(x *Node) *Node { return GRU(x, 32, GRUOptions{}) }},
	{"concat", []int{512, 400}, func(x *Node) *Node { return Concat(x, x) }},
}

// BenchmarkOps is forward and backward of one op alone, by elements of x.
func BenchmarkOps(b *testing.B) {
	for _, op := range timedOps {
		c := op.ready(b)
		n := float64(product(op.shape))
		b.Run(op.name+"/forward", func(b *testing.B) {
			for b.Loop() {
				c.node.op.forward(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
		})
		b.Run(op.name+"/backward", func(b *testing.B) {
			for b.Loop() {
				for _, in := range c.in {
					in.written = false
				}
				c.node.op.backward(c)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
		})
	}
}

// ready is the op's cell after one step on numbers between 0 and 1 that want a gradient.
func (op timed) ready(b *testing.B) *cell {
	g := NewGraph(1)
	in := g.Input("x", op.shape[1:]...)
	y := op.build(Sigmoid(Add(in, g.Parameter(ParameterOptions{}, op.shape[1:]...))))
	loss := Mean(y)
	loss.Bind(still{})
	labels := make([]int64, op.shape[0])
	feed := batchOf{"x": floats(op.shape, uniform(1, product(op.shape), -3, 3)...), "label": int64sOf([]int{len(labels), 1}, labels...)}
	if g.Node("label") == nil {
		delete(feed, "label")
	}
	e := NewExecutor(g)
	if _, err := e.Train(b.Context(), feed, loss); err != nil {
		b.Fatal(err)
	}
	return e.cell(y)
}
