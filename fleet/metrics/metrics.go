package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/fleet"
)

// ErrNothing says that no worker has counted anything.
var ErrNothing = errors.New("metrics: no worker has seen an example")

// Sum adds the workers' x, element by element.
func Sum(ctx context.Context, f *fleet.Fleet, x ...float64) ([]float64, error) {
	return f.Util().AllReduce(ctx, x, fleet.Sum)
}

// Max is the largest of the workers' x, element by element.
func Max(ctx context.Context, f *fleet.Fleet, x ...float64) ([]float64, error) {
	return f.Util().AllReduce(ctx, x, fleet.Max)
}

// Min is the smallest of the workers' x, element by element.
func Min(ctx context.Context, f *fleet.Fleet, x ...float64) ([]float64, error) {
	return f.Util().AllReduce(ctx, x, fleet.Min)
}

// MAE is the mean absolute error. absErr is the sum of |prediction − label| over the n examples of this worker.
func MAE(ctx context.Context, f *fleet.Fleet, absErr float64, n int64) (float64, error) {
	return mean(ctx, f, absErr, n)
}

// MSE is the mean squared error. sqrErr is the sum of (prediction − label)² over the n examples of this worker.
func MSE(ctx context.Context, f *fleet.Fleet, sqrErr float64, n int64) (float64, error) {
	return mean(ctx, f, sqrErr, n)
}

// RMSE is the root of [MSE].
func RMSE(ctx context.Context, f *fleet.Fleet, sqrErr float64, n int64) (float64, error) {
	mse, err := mean(ctx, f, sqrErr, n)
	return math.Sqrt(mse), err
}

// Acc is the part of examples that were predicted right. correct of the total examples of this worker were.
func Acc(ctx context.Context, f *fleet.Fleet, correct, total int64) (float64, error) {
	all, err := f.Util().AllReduceInts(ctx, []int64{correct, total}, fleet.Sum)
	if err != nil {
		return 0, err
	}
	if all[1] == 0 {
		return 0, ErrNothing
	}
	return float64(all[0]) / float64(all[1]), nil
}

func mean(ctx context.Context, f *fleet.Fleet, sum float64, n int64) (float64, error) {
	all, err := Sum(ctx, f, sum, float64(n)) // a count is exact below 2⁵³
	if err != nil {
		return 0, err
	}
	if all[1] == 0 {
		return 0, ErrNothing
	}
	return all[0] / all[1], nil
}

// AUC is the area under the ROC curve of all workers' scores. pos and neg count this worker's examples with a positive and a
// negative label by bucket of the score, ⌊p·(buckets−1)⌋. The area is that of the trapezoids between buckets, and 0.5 where one of
// the labels is absent.
func AUC(ctx context.Context, f *fleet.Fleet, pos, neg []int64) (float64, error) {
	p, n, err := histogram(ctx, f, pos, neg)
	if err != nil {
		return 0, err
	}
	return area(p, n), nil
}

// histogram adds the workers' counts up.
func histogram(ctx context.Context, f *fleet.Fleet, pos, neg []int64) (p, n []int64, err error) {
	if len(pos) != len(neg) {
		return nil, nil, fmt.Errorf("metrics: %d buckets of positive labels and %d of negative ones", len(pos), len(neg))
	}
	both, err := f.Util().AllReduceInts(ctx, append(append([]int64{}, pos...), neg...), fleet.Sum)
	if err != nil {
		return nil, nil, err
	}
	return both[:len(pos)], both[len(pos):], nil
}

// area goes from the highest bucket to the lowest.
func area(pos, neg []int64) float64 {
	var tp, fp, sum float64
	for i := len(pos) - 1; i >= 0; i-- {
		up, right := tp+float64(pos[i]), fp+float64(neg[i])
		sum += (right - fp) * (tp + up) / 2
		tp, fp = up, right
	}
	if tp*fp == 0 {
		return 0.5
	}
	return sum / (tp * fp)
}

// BucketError says how far predicted probabilities are from the observed ones: 0 is a model that is right on average wherever
// there is enough to tell. pos and neg are as [AUC]'s.
//
// Neighbouring buckets, spanning at most 0.01 of probability, are joined until their mean prediction q̄ over k examples is known
// to √((1−q̄)/(q̄·k)) < 0.05; each such group has the error |observed/q̄ − 1|, and the result is the mean of those, weighted by
// examples. It is 0 where no group is known so well.
func BucketError(ctx context.Context, f *fleet.Fleet, pos, neg []int64) (float64, error) {
	p, n, err := histogram(ctx, f, pos, neg)
	if err != nil {
		return 0, err
	}
	return bucketError(p, n), nil
}

const (
	bucketSpan  = 0.01
	bucketBound = 0.05
)

func bucketError(pos, neg []int64) float64 {
	var g group
	var errs, count float64
	for i := range pos {
		q := float64(i) / float64(max(1, len(pos)-1))
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

// group is buckets joined.
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
