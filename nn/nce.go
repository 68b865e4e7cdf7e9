package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// NCE is the loss of noise-contrastive estimation, of shape [N 1]: telling the true candidate from noise (Gutmann and
// Hyvärinen, 2010; for words Mnih and Teh, 2012). scores are float32 of shape [N 1+K], in the first column that of the
// true candidate, in the others the scores of K candidates drawn from a [Sampler]; expected has the same shape and
// holds ln(K·q) of each candidate, q being its probability under the sampler. With d = scores − expected it is, σ being
// the logistic function,
//
//	−ln σ(d₀) − Σₖ ln σ(−dₖ)
//
// Without expected (nil) it is word2vec's negative sampling: d is the scores themselves (Mikolov et al., 2013). Scores
// usually come from [Dot], and both feeds from [Candidates]. expected gets no gradient.
func NCE(scores, expected *Node) *Node {
	if expected == nil {
		return apply("", nce{}, scores)
	}
	return apply("", nce{}, scores, expected)
}

// SampledSoftmax is the cross-entropy of a softmax over a sample of the classes, of shape [N 1]: of the true candidate
// and K drawn ones (Jean et al., 2015). scores and expected are as in [NCE], and with d = scores − expected it is
//
//	ln Σₖ exp(dₖ) − d₀
//
// candidates are the ids behind the scores, int64 of the same shape: a drawn candidate that is the true one is left out
// of the sum.
func SampledSoftmax(scores, expected, candidates *Node) *Node {
	return apply("", sampledSoftmax{}, scores, expected, candidates)
}

// candidateLoss returns the shape of a loss of scores [N 1+K].
func candidateLoss(in []*Node) ([]int, error) {
	scores := in[0]
	if len(scores.shape) != 2 || scores.perExample() < 2 {
		return nil, fmt.Errorf("scores %v are not of shape [N 1+K]: the true candidate and at least one other are "+
			"needed", scores)
	}
	shape := []int{scores.shape[0], 1}
	if len(in) == 1 {
		return shape, wantFloat(in)
	}
	return shape, sameShape(in)
}

// corrected is score i less the logarithm of its expected count, if given.
func (c *cell) corrected(i int) float64 {
	d := float64(c.in[0].value[i])
	if len(c.in) > 1 {
		d -= float64(c.in[1].value[i])
	}
	return d
}

type nce struct{}

func (nce) kind() string                    { return "nce" }
func (nce) compares()                       {}
func (nce) infer(in []*Node) ([]int, error) { return candidateLoss(in) }

// forward computes −ln σ(x) as softplus(−x). It stores the arguments, −d₀ and dₖ, for backward.
func (nce) forward(c *cell) {
	k, n := c.in[0].cols(), len(c.in[0].value)
	d, losses := c.scratch(2 * n)[:n], c.scratch(2 * n)[n:]
	for i := range d {
		d[i] = float32(c.corrected(i))
	}
	for i := 0; i < n; i += k {
		d[i] = -d[i]
	}
	softplusOf(losses, d)
	for r := range c.value {
		c.value[r] = float32(sum64(losses[r*k : (r+1)*k]))
	}
}

func (nce) backward(c *cell) {
	scores := c.in[0]
	if !scores.wanted {
		return
	}
	ds, k := scores.sum(), scores.cols()
	slopes := c.scratch(2 * len(ds))[:len(ds)]
	kernels.Sigmoid(slopes, slopes)
	for r, g := range c.grad {
		ds[r*k] -= g * slopes[r*k]
		for i := r*k + 1; i < (r+1)*k; i++ {
			ds[i] += g * slopes[i]
		}
	}
}

type sampledSoftmax struct{}

func (sampledSoftmax) kind() string { return "sampled_softmax" }
func (sampledSoftmax) compares()    {}

func (sampledSoftmax) infer(in []*Node) ([]int, error) {
	if scores, ids := in[0], in[2]; !isInt(ids) || !equalShapes(scores.shape, ids.shape) {
		return nil, fmt.Errorf("candidates have to be int64 of the scores' shape, not %v for %v", ids, scores)
	}
	return candidateLoss(in[:2])
}

// forward stores the probabilities for backward.
func (sampledSoftmax) forward(c *cell) {
	k, p := c.in[0].cols(), c.scratch(len(c.in[0].value))
	for r := range c.value {
		top := c.top(r, k)
		sum := 0.0
		for i := r * k; i < (r+1)*k; i++ {
			p[i] = 0
			if c.counts(i, r*k) {
				e := math.Exp(c.corrected(i) - top)
				p[i] = float32(e)
				sum += e
			}
		}
		for i := r * k; i < (r+1)*k; i++ {
			p[i] /= float32(sum)
		}
		c.value[r] = float32(math.Log(sum) + top - c.corrected(r*k))
	}
}

// counts reports whether candidate i is in the sum: it is the true one, or another id.
func (c *cell) counts(i, truth int) bool {
	return i == truth || c.in[2].ids[i] != c.in[2].ids[truth]
}

// top is the largest corrected score of example r.
func (c *cell) top(r, k int) float64 {
	top := c.corrected(r * k)
	for i := r*k + 1; i < (r+1)*k; i++ {
		if c.counts(i, r*k) {
			top = max(top, c.corrected(i))
		}
	}
	return top
}

func (sampledSoftmax) backward(c *cell) {
	scores := c.in[0]
	if !scores.wanted {
		return
	}
	ds, k := scores.sum(), scores.cols()
	p := c.scratch(len(ds))
	for i := range ds {
		slope := p[i]
		if i%k == 0 {
			slope--
		}
		ds[i] += c.grad[i/k] * slope
	}
}
