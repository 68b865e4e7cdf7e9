package histogram

import "math"

const (
	bucketSpan  = 0.01 // the most probability that a group spans
	bucketBound = 0.05 // bound on the relative error of a group's mean
)

// BucketError returns how far predicted probabilities are from the observed ones: 0 is a model that is right on average
// wherever there are enough examples. Bucket i stands for the probability i/len(pos), or that of its odds if there are
// OddsBuckets buckets.
//
// Neighbouring buckets, spanning at most 0.01 of probability, are joined until their mean prediction q̄ over k examples
// is known to √((1−q̄)/(q̄·k)) < 0.05. Each such group has the error |observed/q̄ − 1|. The result is the mean of
// these, weighted by examples; 0 if no group is known so well.
func BucketError(pos, neg []int64) float64 {
	var g group
	var errs, count float64
	for i := range pos {
		q := probability(i, len(pos))
		if !g.open || q-g.begins > bucketSpan {
			g = group{open: true, begins: q}
		}
		g.add(q, pos[i], neg[i])
		if g.known() {
			errs += g.error() * g.examples
			count += g.examples
			g = group{}
		}
	}
	if count == 0 {
		return 0
	}
	return errs / count
}

// group is a range of joined buckets.
type group struct {
	open                        bool
	begins                      float64
	examples, predicted, clicks float64
}

func (g *group) add(q float64, pos, neg int64) {
	g.examples += float64(pos + neg)
	g.predicted += q * float64(pos+neg)
	g.clicks += float64(pos)
}

func (g *group) mean() float64 { return g.predicted / g.examples }

func (g *group) known() bool {
	if g.examples == 0 || g.predicted == 0 {
		return false
	}
	q := g.mean()
	return math.Sqrt((1-q)/(q*g.examples)) < bucketBound
}

func (g *group) error() float64 { return math.Abs(g.clicks/g.examples/g.mean() - 1) }
