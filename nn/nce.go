package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

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

// Sampler is a distribution of noise over the ids 0 … Classes−1, from which [NCE] and [SampledSoftmax] take candidates.
// Use it where batches are made; several goroutines may share one.
type Sampler interface {
	// Draw draws an id.
	Draw(r *rand.Rand) int64
	// Probability returns the probability of drawing the id, 0 outside the classes.
	Probability(id int64) float64
}

// Candidates draws ids[1:] for the true id in ids[0], and sets expected[i] to ln(K·q(ids[i])), where K is len(ids)−1
// and q the probability under the sampler, which must be above 0 for the true id too. expected may be nil; otherwise it
// is as long as ids.
func Candidates(s Sampler, r *rand.Rand, ids []int64, expected []float32) {
	for i := range ids {
		if i > 0 {
			ids[i] = s.Draw(r)
		}
		if expected != nil {
			expected[i] = float32(math.Log(float64(len(ids)-1) * s.Probability(ids[i])))
		}
	}
}

// UniformSampler draws all classes with equal probability.
type UniformSampler struct{ Classes int64 }

// Draw implements [Sampler].
func (s UniformSampler) Draw(r *rand.Rand) int64 { return r.Int64N(max(s.Classes, 1)) }

// Probability implements [Sampler].
func (s UniformSampler) Probability(id int64) float64 {
	if id < 0 || id >= s.Classes {
		return 0
	}
	return 1 / float64(s.Classes)
}

// LogUniformSampler draws id with probability ln((id+2)/(id+1))/ln(Classes+1): words by their frequency, if ids are
// sorted from the most frequent to the rarest and frequencies follow Zipf's law.
type LogUniformSampler struct{ Classes int64 }

// Draw implements [Sampler].
func (s LogUniformSampler) Draw(r *rand.Rand) int64 {
	id := int64(math.Exp(r.Float64()*math.Log(float64(s.Classes)+1))) - 1
	return max(0, min(id, s.Classes-1))
}

// Probability implements [Sampler].
func (s LogUniformSampler) Probability(id int64) float64 {
	if id < 0 || id >= s.Classes {
		return 0
	}
	return math.Log1p(1/float64(id+1)) / math.Log(float64(s.Classes)+1)
}

// UnigramSampler draws ids by counts to a power, in constant time (the alias method; Vose, 1991).
type UnigramSampler struct {
	p     []float64 // of each id
	keep  []float64 // probability that a column keeps its own id
	alias []int64   // the id otherwise
}

// NewUnigramSampler makes a sampler of len(counts) classes, class i with a probability that is proportional to
// counts[i]^power. 0.75 is the power of word2vec, 1 the frequency itself.
func NewUnigramSampler(counts []int64, power float64) (*UnigramSampler, error) {
	s := &UnigramSampler{p: make([]float64, len(counts)), keep: make([]float64, len(counts)),
		alias: make([]int64, len(counts))}
	sum := 0.0
	for i, n := range counts {
		if n < 0 {
			return nil, fmt.Errorf("nn: unigram sampler: count %d is %d, it can't be negative", i, n)
		}
		if n > 0 {
			s.p[i] = math.Pow(float64(n), power)
		}
		sum += s.p[i]
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return nil, errors.New("nn: unigram sampler: no class has a finite count above 0")
	}
	for i := range s.p {
		s.p[i] /= sum
	}
	s.fill()
	return s, nil
}

// fill divides the probabilities into columns of equal height, each shared by at most two ids.
func (s *UnigramSampler) fill() {
	var small, large []int
	for i, p := range s.p {
		s.keep[i], s.alias[i] = p*float64(len(s.p)), int64(i)
		if s.keep[i] < 1 {
			small = append(small, i)
		} else {
			large = append(large, i)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		low, high := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		s.alias[low] = int64(high)
		s.keep[high] -= 1 - s.keep[low]
		if s.keep[high] < 1 {
			large, small = large[:len(large)-1], append(small, high)
		}
	}
	top := int64(slices.Index(s.p, slices.Max(s.p)))
	for _, i := range append(small, large...) { // the rest is 1 up to rounding
		s.keep[i] = 1
		if s.p[i] == 0 {
			s.keep[i], s.alias[i] = 0, top
		}
	}
}

// Draw implements [Sampler].
func (s *UnigramSampler) Draw(r *rand.Rand) int64 {
	i := r.IntN(len(s.p))
	if r.Float64() < s.keep[i] {
		return int64(i)
	}
	return s.alias[i]
}

// Probability implements [Sampler].
func (s *UnigramSampler) Probability(id int64) float64 {
	if id < 0 || id >= int64(len(s.p)) {
		return 0
	}
	return s.p[id]
}
