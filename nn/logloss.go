package nn

import "math"

const logLossEpsilon = 1e-4

// LogLoss is the negative log likelihood of binary labels, one number an example:
//
//	−label·ln(pred+ε) − (1−label)·ln(1−pred+ε), ε = 1e-4
//
// pred is a probability and label 0 or 1 (or between), both float32 of the same shape. The label gets no gradient.
func LogLoss(pred, label *Node) *Node { return apply("", logLoss{}, pred, label) }

type logLoss struct{}

func (logLoss) kind() string { return "log_loss" }

func (logLoss) infer(in []*Node) ([]int, error) { return in[0].shape, sameShape(in) }

func (logLoss) forward(c *cell) {
	p, y := c.in[0].value, c.in[1].value
	for i := range c.value {
		p, y := float64(p[i]), float64(y[i])
		c.value[i] = float32(-y*math.Log(p+logLossEpsilon) - (1-y)*math.Log(1-p+logLossEpsilon))
	}
}

func (logLoss) backward(c *cell) {
	x := c.in[0]
	if !x.wanted {
		return
	}
	dx, y := x.sum(), c.in[1].value
	for i, p := range x.value {
		dx[i] += c.grad[i] * ((1-y[i])/(1-p+logLossEpsilon) - y[i]/(p+logLossEpsilon))
	}
}
