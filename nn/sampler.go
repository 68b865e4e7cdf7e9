package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

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
