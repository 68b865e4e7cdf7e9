package metrics

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/internal/histogram"
)

// ErrNothing says that no worker has seen an example.
var ErrNothing = errors.New("metrics: no worker has seen an example")

// Sum adds the workers' x, element by element.
func Sum(ctx context.Context, f *fleet.Fleet, x ...float64) ([]float64, error) {
	return f.AllReduce(ctx, x, fleet.Sum)
}

// Max is the largest of the workers' x, element by element.
func Max(ctx context.Context, f *fleet.Fleet, x ...float64) ([]float64, error) {
	return f.AllReduce(ctx, x, fleet.Max)
}

// Min is the smallest of the workers' x, element by element.
func Min(ctx context.Context, f *fleet.Fleet, x ...float64) ([]float64, error) {
	return f.AllReduce(ctx, x, fleet.Min)
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

// Acc is the fraction of examples that were predicted correctly. This worker predicted correct of its total examples
// correctly.
func Acc(ctx context.Context, f *fleet.Fleet, correct, total int64) (float64, error) {
	all, err := f.AllReduceInts(ctx, []int64{correct, total}, fleet.Sum)
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

// AUC is the area under the ROC curve of all workers' scores. pos and neg count this worker's examples with a positive
// and a negative label by bucket of the score: ⌊p·(buckets−1)⌋, or any other function that rises with the score, as in
// AUC of package nn. The area is that of the trapezoids between buckets, and 0.5 if one of the labels is absent.
func AUC(ctx context.Context, f *fleet.Fleet, pos, neg []int64) (float64, error) {
	p, n, err := addUp(ctx, f, pos, neg)
	if err != nil {
		return 0, err
	}
	return histogram.AUC(p, n), nil
}

// addUp adds the workers' counts up.
func addUp(ctx context.Context, f *fleet.Fleet, pos, neg []int64) (p, n []int64, err error) {
	if len(pos) != len(neg) {
		return nil, nil, fmt.Errorf("metrics: %d buckets of positive labels and %d of negative ones", len(pos),
			len(neg))
	}
	both, err := f.AllReduceInts(ctx, append(append([]int64{}, pos...), neg...), fleet.Sum)
	if err != nil {
		return nil, nil, err
	}
	return both[:len(pos)], both[len(pos):], nil
}

// Grouped are the AUCs of groups of rows, such as those of one user.
type Grouped struct {
	// Weighted is the mean over groups, weighted by their numbers of rows, and Mean the plain one; both are NaN without
	// a group that has both labels.
	Weighted, Mean float64
	// Groups is the number of groups with both labels, and LeftOut that of the others.
	Groups, LeftOut int
	// Sample is the share of groups that were looked at: 1 for all, as up to 1,048,576 rows.
	Sample float64
}

// GroupAUC returns the AUCs of groups, whose rows may be divided over workers. scores are those of this worker, as
// Executor.Scores of package nn has them of a GroupAUC. They are gathered, about five bytes a row.
func GroupAUC(ctx context.Context, f *fleet.Fleet, scores []byte) (Grouped, error) {
	texts, err := f.AllGatherBytes(ctx, scores)
	if err != nil {
		return Grouped{}, err
	}
	all := histogram.Scores{Most: histogram.MostGrouped, Sampled: true}
	for w, text := range texts {
		if text == nil { // it has left
			continue
		}
		if err := all.Join(text); err != nil {
			return Grouped{}, fmt.Errorf("metrics: GroupAUC: worker %d: %w", w, err)
		}
	}
	g := all.Groups()
	return Grouped{g.Weighted, g.Mean, g.Groups, g.LeftOut, all.Sample()}, nil
}

// BucketError says how far predicted probabilities are from the observed ones, of all workers' scores: 0 means a model
// that is right on average in every group with enough examples. pos and neg are as [AUC]'s; bucket i stands for the
// probability i/buckets or, if there are 65,536 as in AUC of package nn, for the probability of the bucket's odds.
//
// Neighbouring buckets, spanning at most 0.01 of probability, are joined until their mean prediction q̄ over k examples
// is known to √((1−q̄)/(q̄·k)) < 0.05; each such group has the error |observed/q̄ − 1|, and the result is the mean over
// the groups, weighted by examples. It is 0 if no group is known so well.
func BucketError(ctx context.Context, f *fleet.Fleet, pos, neg []int64) (float64, error) {
	p, n, err := addUp(ctx, f, pos, neg)
	if err != nil {
		return 0, err
	}
	return histogram.BucketError(p, n), nil
}
