package nn

import "math"

// LogSoftmax is the logarithm of [Softmax], computed without leaving the range of float32.
func LogSoftmax(x *Node) *Node { return apply("", logSoftmax{}, x) }

type logSoftmax struct{}

func (logSoftmax) kind() string { return "log_softmax" }

func (logSoftmax) infer(in []*Node) ([]int, error) { return in[0].shape, wantClasses(in[0]) }

func (logSoftmax) forward(c *cell) {
	cols := c.last()
	for i := 0; i < len(c.value); i += cols {
		logSoftmaxRow(c.value[i:i+cols], c.in[0].value[i:i+cols])
	}
}

// logSoftmaxRow writes x − ln Σeˣ.
func logSoftmaxRow(dst, x []float32) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float64
	for _, v := range x {
		sum += math.Exp(float64(v - top))
	}
	shift := float64(top) + math.Log(sum)
	for i, v := range x {
		dst[i] = float32(float64(v) - shift)
	}
}

func (logSoftmax) backward(c *cell) {
	x, cols := c.in[0], c.last()
	if !x.wanted {
		return
	}
	dx := x.sum()
	for i := 0; i < len(dx); i += cols {
		total := sum64(c.grad[i : i+cols])
		for j := i; j < i+cols; j++ {
			dx[j] += c.grad[j] - float32(math.Exp(float64(c.value[j]))*total)
		}
	}
}
