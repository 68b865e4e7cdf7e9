package nn

import (
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// LogSoftmax is the logarithm of [Softmax], computed without leaving the range of float32.
func LogSoftmax(x *Node) *Node { return apply("", logSoftmax{}, x) }

type logSoftmax struct{}

func (logSoftmax) kind() string { return "log_softmax" }
func (logSoftmax) byExample()   {}

func (logSoftmax) infer(in []*Node) ([]int, error) { return in[0].shape, wantClasses(in[0]) }

func (logSoftmax) forward(c *cell) {
	cols := c.last()
	for i := 0; i < len(c.value); i += cols {
		logSoftmaxRow(c.value[i:i+cols], c.in[0].value[i:i+cols])
	}
}

// logSoftmaxRow writes x − ln Σeˣ.
func logSoftmaxRow(dst, x []float32) {
	top, sum := kernels.Exponentials(dst, x)
	shift := float64(top) + math.Log(float64(sum))
	for i, v := range x {
		dst[i] = float32(float64(v) - shift)
	}
}

func (logSoftmax) backward(c *cell) {
	x, cols := c.in[0], c.last()
	if !x.wanted {
		return
	}
	dx, p := x.sum(), c.scratch(len(x.value))
	kernels.Exp(p, c.value)
	for i := 0; i < len(dx); i += cols {
		total := float32(sum64(c.grad[i : i+cols]))
		for j := i; j < i+cols; j++ {
			dx[j] += c.grad[j] - p[j]*total
		}
	}
}
