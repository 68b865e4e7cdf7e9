package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// SquareError is (pred−label)², element by element. The original's mse_loss is its [Mean].
func SquareError(pred, label *Node) *Node {
	return apply("", difference{differences.of("square_error")}, pred, label)
}

// AbsoluteError is |pred−label|, element by element, with no gradient where they are the same. The original's l1_loss
// is its [Mean].
func AbsoluteError(pred, label *Node) *Node {
	return apply("", difference{differences.of("absolute_error")}, pred, label)
}

// SmoothL1 is ½d² for |d| below delta and delta·(|d|−½delta) above, element by element, d being pred−label (Huber,
// 1964). The original's delta is 1.
func SmoothL1(pred, label *Node, delta float32) *Node {
	return apply("", difference{differences.of("smooth_l1", delta)}, pred, label)
}

// differences are the losses that are formulas of pred − label.
var differences = tabled(
	row{name: "square_error",
		forward:  func(c *cell, _ args) { c.eachDifference(func(d float32) float32 { return d * d }) },
		backward: func(c *cell, _ args) { c.differenceGrad(func(d float32) float32 { return 2 * d }) }},
	row{name: "absolute_error",
		forward: func(c *cell, _ args) { c.eachDifference(func(d float32) float32 { return abs(d) }) },
		backward: func(c *cell, _ args) {
			c.differenceGrad(func(d float32) float32 {
				if d == 0 {
					return 0
				}
				return float32(math.Copysign(1, float64(d)))
			})
		}},
	row{name: "smooth_l1", attrs: "delta", check: func(a args) error { return aboveZero("delta", a[0]) },
		forward: func(c *cell, a args) {
			c.eachDifference(func(d float32) float32 {
				if abs(d) < a[0] {
					return d * d / 2
				}
				return a[0] * (abs(d) - a[0]/2)
			})
		},
		backward: func(c *cell, a args) {
			c.differenceGrad(func(d float32) float32 { return max(-a[0], min(d, a[0])) })
		}},
)

// difference is an op of the table differences. A label is never repeated to fit a prediction.
type difference struct{ formula }

func (d difference) infer(in []*Node) ([]int, error) { return in[0].shape, d.checked(sameShape(in)) }

// eachDifference sets the value to f of pred − label.
func (c *cell) eachDifference(f func(d float32) float32) {
	a, b := c.in[0].value, c.in[1].value
	for i := range c.value {
		c.value[i] = f(a[i] - b[i])
	}
}

// differenceGrad adds to pred's gradient by the derivative at pred − label, and the opposite to label's.
func (c *cell) differenceGrad(slope func(d float32) float32) {
	a, b := c.in[0], c.in[1]
	for side, sign := range [2]float32{1, -1} {
		in := c.in[side]
		if !in.wanted {
			continue
		}
		dx := in.sum()
		for i, g := range c.grad {
			dx[i] += sign * g * slope(a.value[i]-b.value[i])
		}
	}
}

func abs(x float32) float32 { return float32(math.Abs(float64(x))) }

func aboveZero(name string, x float32) error {
	if !(x > 0) {
		return fmt.Errorf("%s is %v: it must be above 0", name, x)
	}
	return nil
}

// LogLoss is the negative log likelihood of binary labels, one number per example:
//
//	−label·ln(pred+ε) − (1−label)·ln(1−pred+ε), ε = 1e-4
//
// pred is a probability, float32. label has the same shape and is 0 or 1, as int64 or float32, or as float32 anything
// between. It gets no gradient, so a label that is computed from parameters is refused: pass a teacher's output through
// [Detach]. Other values of pred or label are an error that names their row.
func LogLoss(pred, label *Node) *Node {
	return apply("", labelled{labelFormulas.of("log_loss")}, pred, label)
}

const logLossEpsilon = 1e-4

// BinaryCrossEntropy is −label·ln(pred) − (1−label)·ln(1−pred), element by element, pred being a probability. A
// logarithm is never below −100. pred and label are as in [LogLoss].
func BinaryCrossEntropy(pred, label *Node) *Node {
	return apply("", labelled{labelFormulas.of("binary_cross_entropy")}, pred, label)
}

// BinaryCrossEntropyWithLogits is [BinaryCrossEntropy] of Sigmoid(x), computed without leaving the range of float32:
// max(x,0) − x·label + ln(1+e^−|x|), element by element. label is as in [LogLoss].
func BinaryCrossEntropyWithLogits(x, label *Node) *Node {
	return apply("", labelled{labelFormulas.of("binary_cross_entropy_with_logits")}, x, label)
}

// FocalLoss is −α·(1−p)^γ·ln p of the probability p that Sigmoid(x) gives to the label, element by element: examples
// that are already classified correctly count little (Lin et al., 2017, who use γ = 2 and α = 0.25). alpha is the
// weight of positive labels and 1−alpha that of others; 0 means no weights. label is as in [LogLoss].
func FocalLoss(x, label *Node, gamma, alpha float32) *Node {
	return apply("", labelled{labelFormulas.of("focal_loss", gamma, alpha)}, x, label)
}

// Hinge is max(0, 1 − s·x), element by element, s being 1 for the label 1 and −1 for 0, as the original's hinge_loss. x
// is any score, label that of [LogLoss].
func Hinge(x, label *Node) *Node { return apply("", labelled{labelFormulas.of("hinge")}, x, label) }

// Contrastive is label·d² + (1−label)·max(0, margin−d)², element by element, of distances d: pairs that belong together
// have the label 1, and other pairs are pushed a margin apart (Hadsell et al., 2006, without the factor ½). label is as
// in [LogLoss].
func Contrastive(distance, label *Node, margin float32) *Node {
	return apply("", labelled{labelFormulas.of("contrastive", margin)}, distance, label)
}

// BPR is −ln σ(positive − negative), element by element: a loss for the order of the score of a positive and that of a
// negative (Bayesian personalised ranking; Rendle et al., 2009). Its Mean is minimised.
func BPR(positive, negative *Node) *Node { return Softplus(Subtract(negative, positive)) }

// labelFormulas are the losses that are formulas of an element and its label, which is of two classes.
var labelFormulas = tabled(
	row{name: "log_loss",
		limits: func(n *Node) []limit { return []limit{labels01(n), probabilities(n, logLossEpsilon)} },
		forward: func(c *cell, _ args) {
			c.eachLabel(func(p, y float64) float64 {
				return -y*math.Log(p+logLossEpsilon) - (1-y)*math.Log(1-p+logLossEpsilon)
			})
		}, backward: labelGrad(logLossGrad)},
	row{name: "binary_cross_entropy",
		limits: func(n *Node) []limit { return []limit{labels01(n), probabilities(n, 0)} },
		forward: func(c *cell, _ args) {
			c.eachLabel(func(p, y float64) float64 {
				return -y*max(math.Log(p), -100) - (1-y)*max(math.Log1p(-p), -100)
			})
		}, backward: labelGrad(crossEntropyGrad)},
	row{name: "binary_cross_entropy_with_logits", forward: logitsCrossEntropy,
		backward: labelGrad(logitsCrossEntropyGrad)},
	row{name: "focal_loss", attrs: "gamma [alpha]",
		check: func(a args) error {
			if !(a[0] >= 0) || !(a[1] >= 0 && a[1] < 1) {
				return fmt.Errorf("gamma is %v and alpha %v: gamma from 0, and alpha from 0 to below 1 are needed",
					a[0], a[1])
			}
			return nil
		},
		forward: func(c *cell, a args) {
			c.eachLabel(func(x, y float64) float64 {
				weight, missed, entropy := focalParts(x, y, a)
				return weight * math.Pow(missed, float64(a[0])) * entropy
			})
		},
		backward: func(c *cell, a args) { c.eachLabelGrad(func(x, y float64) float64 { return focalSlope(x, y, a) }) }},
	row{name: "hinge",
		forward: func(c *cell, _ args) { c.eachLabel(func(x, y float64) float64 { return max(0, 1-(2*y-1)*x) }) },
		backward: func(c *cell, _ args) {
			c.eachLabelGrad(func(x, y float64) float64 {
				if s := 2*y - 1; s*x < 1 {
					return -s
				}
				return 0
			})
		}},
	row{name: "contrastive", attrs: "margin", check: func(a args) error { return aboveZero("margin", a[0]) },
		forward: func(c *cell, a args) {
			c.eachLabel(func(d, y float64) float64 {
				short := max(0, float64(a[0])-d)
				return y*d*d + (1-y)*short*short
			})
		},
		backward: func(c *cell, a args) {
			c.eachLabelGrad(func(d, y float64) float64 {
				return 2 * (y*d - (1-y)*max(0, float64(a[0])-d))
			})
		}},
)

// labelled is an op of the table labelFormulas.
type labelled struct{ formula }

func (labelled) compares() {}

// infer requires a label of pred's shape, whose elements may be int64.
func (l labelled) infer(in []*Node) ([]int, error) {
	pred, label := in[0], in[1]
	err := sameShape(in)
	if isInt(label) && wantFloat(in[:1]) == nil {
		err = nil
		if !equalShapes(pred.shape, label.shape) {
			err = differ(in)
		}
	}
	return pred.shape, l.checked(err)
}

func (l labelled) limits(n *Node) []limit {
	if l.row.limits == nil { // scores of any size
		return []limit{labels01(n)}
	}
	return l.row.limits(n)
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

// eachLabel sets the value to f of each element of the first input and its label.
func (c *cell) eachLabel(f func(x, y float64) float64) {
	y := c.labels()
	for i, x := range c.in[0].value {
		c.value[i] = float32(f(float64(x), float64(y[i])))
	}
}

// eachLabelGrad adds slope × gradient to the gradient of the first input, slope being the derivative at x.
func (c *cell) eachLabelGrad(slope func(x, y float64) float64) {
	in := c.in[0]
	if !in.wanted {
		return
	}
	y, dx := c.labels(), in.sum()
	for i, x := range in.value {
		dx[i] += c.grad[i] * float32(slope(float64(x), float64(y[i])))
	}
}

// labelGrad passes gradients to the first input, unless it wants none: f adds to dx.
func labelGrad(f func(c *cell, dx, x, y []float32)) func(*cell, args) {
	return func(c *cell, _ args) {
		if in := c.in[0]; in.wanted {
			f(c, in.sum(), in.value, c.labels())
		}
	}
}

func logLossGrad(c *cell, dx, x, y []float32) {
	for i, p := range x {
		dx[i] += c.grad[i] * ((1-y[i])/(1-p+logLossEpsilon) - y[i]/(p+logLossEpsilon))
	}
}

func crossEntropyGrad(c *cell, dx, x, y []float32) {
	for i, p := range x {
		dx[i] += c.grad[i] * (p - y[i]) / max((1-p)*p, 1e-12)
	}
}

func logitsCrossEntropy(c *cell, _ args) {
	x, y := c.in[0].value, c.labels()
	logOnePlus(c.value, x)
	for i, v := range x {
		c.value[i] += max(v, 0) - v*y[i]
	}
}

func logitsCrossEntropyGrad(c *cell, dx, x, y []float32) {
	p := c.scratch(len(x))
	kernels.Sigmoid(p, x)
	for i, g := range c.grad {
		dx[i] += g * (p[i] - y[i])
	}
}

// focalParts returns the weight of a label, the probability of the other label, and the cross-entropy.
func focalParts(x, y float64, o args) (weight, missed, entropy float64) {
	weight = 1
	if a := float64(o[1]); a > 0 {
		weight = a*y + (1-a)*(1-y)
	}
	p := logistic(x)
	return weight, y*(1-p) + (1-y)*p, max(x, 0) - x*y + math.Log1p(math.Exp(-math.Abs(x)))
}

func focalSlope(x, y float64, a args) float64 {
	weight, missed, entropy := focalParts(x, y, a)
	if missed == 0 {
		return 0
	}
	gamma := float64(a[0])
	p, power := logistic(x), math.Pow(missed, gamma)
	return weight * power * (p - y + gamma/missed*p*(1-p)*(1-2*y)*entropy)
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
