package nn

import "math"

const logLossEpsilon = 1e-4

// LogLoss is the negative log likelihood of binary labels, one number per example:
//
//	−label·ln(pred+ε) − (1−label)·ln(1−pred+ε), ε = 1e-4
//
// pred is a probability, float32. label has the same shape and is 0 or 1, as int64 or float32, or as float32 anything
// between. It gets no gradient, so a label that is computed from parameters is refused: pass a teacher's output through
// [Detach]. Other values of pred or label are an error that names their row.
func LogLoss(pred, label *Node) *Node { return apply("", logLoss{}, pred, label) }

type logLoss struct{ labelled }

func (logLoss) kind() string { return "log_loss" }

func (logLoss) limits(n *Node) []limit { return []limit{labels01(n), probabilities(n, logLossEpsilon)} }

func (logLoss) forward(c *cell) {
	p, y := c.in[0].value, c.labels()
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
	dx, y := x.sum(), c.labels()
	for i, p := range x.value {
		dx[i] += c.grad[i] * ((1-y[i])/(1-p+logLossEpsilon) - y[i]/(p+logLossEpsilon))
	}
}

// labelled has the methods that losses of labels of two classes share.
type labelled struct{}

func (labelled) compares() {}

// infer requires a label of pred's shape, whose elements may be int64.
func (labelled) infer(in []*Node) ([]int, error) {
	pred, label := in[0], in[1]
	if isInt(label) && equalShapes(pred.shape, label.shape) {
		return pred.shape, wantFloat(in[:1])
	}
	if isInt(label) && wantFloat(in[:1]) == nil {
		return nil, differ(in)
	}
	return pred.shape, sameShape(in)
}

// labels returns the numbers of the second input, valid until the next call.
func (c *cell) labels() []float32 {
	label := c.in[1]
	if !isInt(label.node) {
		return label.value
	}
	c.casts = grown(c.casts, len(label.ids))
	for i, id := range label.ids {
		c.casts[i] = float32(id)
	}
	return c.casts
}
