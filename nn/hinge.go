package nn

import (
	"fmt"
	"math"
)

// FocalLoss is −α·(1−p)^γ·ln p of the probability p that Sigmoid(x) gives to the label, element by element: examples
// that are already classified correctly count little (Lin et al., 2017, who use γ = 2 and α = 0.25). alpha is the
// weight of positive labels and 1−alpha that of others; 0 means no weights. label is as in [LogLoss].
func FocalLoss(x, label *Node, gamma, alpha float32) *Node {
	return apply("", focal{Gamma: gamma, Alpha: alpha}, x, label)
}

// Hinge is max(0, 1 − s·x), element by element, s being 1 for the label 1 and −1 for 0, as the original's hinge_loss. x
// is any score, label that of [LogLoss].
func Hinge(x, label *Node) *Node { return apply("", hinge{}, x, label) }

// Contrastive is label·d² + (1−label)·max(0, margin−d)², element by element, of distances d: pairs that belong together
// have the label 1, and other pairs are pushed a margin apart (Hadsell et al., 2006, without the factor ½). label is as
// in [LogLoss].
func Contrastive(distance, label *Node, margin float32) *Node {
	return apply("", contrastive{Margin: margin}, distance, label)
}

// BPR is −ln σ(positive − negative), element by element: a loss for the order of the score of a positive and that of a
// negative (Bayesian personalised ranking; Rendle et al., 2009). Its Mean is minimised.
func BPR(positive, negative *Node) *Node { return Softplus(Subtract(negative, positive)) }

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

// limited is a loss with labels for scores of any size.
type limited struct{ labelled }

func (limited) limits(n *Node) []limit { return []limit{labels01(n)} }

type focal struct {
	limited
	Gamma float32 `json:"gamma"`
	Alpha float32 `json:"alpha,omitempty"`
}

func (focal) kind() string { return "focal_loss" }

func (f focal) infer(in []*Node) ([]int, error) {
	if !(f.Gamma >= 0) || !(f.Alpha >= 0 && f.Alpha < 1) {
		return nil, fmt.Errorf("gamma is %v and alpha %v: gamma from 0, and alpha from 0 to below 1 are needed",
			f.Gamma, f.Alpha)
	}
	return f.limited.infer(in)
}

// parts returns the weight of a label, the probability of the other label, and the cross-entropy.
func (f focal) parts(x, y float64) (weight, missed, entropy float64) {
	weight = 1
	if a := float64(f.Alpha); a > 0 {
		weight = a*y + (1-a)*(1-y)
	}
	p := logistic(x)
	return weight, y*(1-p) + (1-y)*p, max(x, 0) - x*y + math.Log1p(math.Exp(-math.Abs(x)))
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func (f focal) forward(c *cell) {
	c.eachLabel(func(x, y float64) float64 {
		weight, missed, entropy := f.parts(x, y)
		return weight * math.Pow(missed, float64(f.Gamma)) * entropy
	})
}

func (f focal) backward(c *cell) {
	gamma := float64(f.Gamma)
	c.eachLabelGrad(func(x, y float64) float64 {
		weight, missed, entropy := f.parts(x, y)
		if missed == 0 {
			return 0
		}
		p, power := logistic(x), math.Pow(missed, gamma)
		return weight * power * (p - y + gamma/missed*p*(1-p)*(1-2*y)*entropy)
	})
}

type hinge struct{ limited }

func (hinge) kind() string { return "hinge" }

func (hinge) forward(c *cell) {
	c.eachLabel(func(x, y float64) float64 { return max(0, 1-(2*y-1)*x) })
}

func (hinge) backward(c *cell) {
	c.eachLabelGrad(func(x, y float64) float64 {
		if s := 2*y - 1; s*x < 1 {
			return -s
		}
		return 0
	})
}

type contrastive struct {
	limited
	Margin float32 `json:"margin"`
}

func (contrastive) kind() string { return "contrastive" }

func (o contrastive) infer(in []*Node) ([]int, error) {
	if !(o.Margin > 0) {
		return nil, fmt.Errorf("margin is %v: it must be above 0", o.Margin)
	}
	return o.limited.infer(in)
}

func (o contrastive) forward(c *cell) {
	c.eachLabel(func(d, y float64) float64 {
		short := max(0, float64(o.Margin)-d)
		return y*d*d + (1-y)*short*short
	})
}

func (o contrastive) backward(c *cell) {
	c.eachLabelGrad(func(d, y float64) float64 { return 2 * (y*d - (1-y)*max(0, float64(o.Margin)-d)) })
}
