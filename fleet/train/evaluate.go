package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/train/internal/check"
	"github.com/gofleet/gofleet/fleet/train/internal/verdict"
	"github.com/gofleet/gofleet/nn"
)

// Evaluate returns the values of nodes over all rows, without training on them. Every worker of the job must call it
// with the same rows, and rows in memory that differ are refused; each evaluates its share, and all get the same
// numbers. They are NaN if there are no rows, and an AUC is NaN if all labels are of one class. A node is a metric over
// batches, such as [nn.AUC], or a node of one element, such as a loss, which is averaged over examples, weighted as in
// an [nn.WeightedMean]. Like [Predict], it needs no Job.
func Evaluate(ctx context.Context, f *fleet.Fleet, rows *dataset.Dataset, nodes ...*nn.Node) ([]float64, error) {
	if len(nodes) == 0 {
		return nil, nil
	}
	if err := checkGiven("Evaluate", f, rows); err != nil {
		return nil, err
	}
	for i, n := range nodes {
		if n == nil || n.Graph() != nodes[0].Graph() {
			return nil, fmt.Errorf("train: Evaluate: node %d, %v, is nil or of another graph than the first", i, n)
		}
		if err := measurable(n); err != nil {
			return nil, fmt.Errorf("train: Evaluate: node %d, %w", i, err)
		}
	}
	if err := join(ctx, f, "Evaluate"); err != nil {
		return nil, err
	}
	if err := sameRows(ctx, f, "Evaluate", rows); err != nil {
		return nil, err
	}
	exe := nn.NewExecutor(nodes[0].Graph())
	mine, _, err := measure(ctx, exe, rows.Shard(f.WorkerIndex(), f.WorkerNum()), nodes, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	sums, err := f.AllReduce(ctx, mine.sums, fleet.Sum)
	if err != nil {
		return nil, err
	}
	scores := make([][][]byte, len(nodes))
	for i, its := range mine.scores {
		if its == nil {
			continue
		}
		if scores[i], err = f.AllGatherBytes(ctx, its); err != nil {
			return nil, err
		}
	}
	values, _, err := valuesOf(nodes, sums, scores)
	if err != nil {
		return nil, err
	}
	return values, exe.Close(ctx)
}

// measurable refuses a node without a value for all rows together.
func measurable(n *nn.Node) error {
	if n.Counts() || verdict.Width(n) == 1 && (len(n.Shape()) == 0 || n.Shape()[0] == 1) {
		return nil
	}
	return fmt.Errorf("%v, is neither a metric that counts over batches nor one number: take its nn.Mean", n)
}

// counts are what was counted of nodes over rows.
type counts struct {
	sums   []float64 // one node after the other
	scores [][]byte  // of each node; nil of those whose sums are enough
}

// measure counts nodes over rows, and returns the spreads of the predictions in preds as well. It passes the rows to
// tallies too, and to a constant prediction, whose sums come last.
func measure(ctx context.Context, exe *nn.Executor, rows *dataset.Dataset, nodes, preds []*nn.Node,
	tallies []*verdict.Tally, always *constant) (all counts, spreads []float64, err error) {
	fetch, apart := slices.Clone(preds), make([]check.Spread, len(preds))
	for _, t := range tallies {
		fetch = append(fetch, t.Fetch()...)
	}
	behind := len(fetch)
	if always != nil {
		if always.gauge.reset(); always.own != nil {
			fetch = append(fetch, always.own)
		}
	}
	g := gauge{exe: exe, nodes: nodes}
	g.reset()
	for batch, err := range rows.MayBeEmpty().Prefetch(2).BatchesContext(ctx, testBatch) {
		if err != nil {
			return all, nil, err
		}
		out, err := g.see(ctx, batch, fetch...)
		if err != nil {
			return all, nil, err
		}
		for i, pred := range preds {
			apart[i].See(pred, out[i].Float32s(), exe.Examples())
		}
		at := len(preds)
		for _, t := range tallies {
			n := len(t.Fetch())
			t.See(out[at : at+n])
			at += n
		}
		if always != nil {
			always.see(ctx, batch, exe.Examples(), out[behind:])
		}
	}
	for _, s := range apart {
		spreads = append(spreads, s[:]...)
	}
	if all, err = g.counts(); err != nil || always == nil {
		return all, spreads, err
	}
	its, err := always.gauge.counts()
	all.sums = append(all.sums, its.sums...)
	return all, spreads, err
}

// gauge measures nodes over batches.
type gauge struct {
	exe    *nn.Executor
	nodes  []*nn.Node
	totals [][2]float64 // of nodes that are no metrics, with their weights
}

func (g *gauge) reset() {
	g.exe.ResetMetrics()
	g.totals = make([][2]float64, len(g.nodes))
}

// see adds a batch, and returns the values of fetches.
func (g *gauge) see(ctx context.Context, batch dataset.Batch, fetch ...*nn.Node) ([]*tensor.Dense, error) {
	var counted, others []*nn.Node
	for _, n := range g.nodes {
		if n.Counts() {
			counted = append(counted, n)
		} else {
			others = append(others, n)
		}
	}
	out, err := g.exe.Count(ctx, batch, counted, slices.Concat(others, fetch)...)
	if err != nil {
		return nil, err
	}
	for i, n := range g.nodes {
		if n.Counts() {
			continue
		}
		if w := g.exe.Weight(n); w > 0 {
			g.totals[i][0] += nn.Scalar(out[0]) * w
			g.totals[i][1] += w
		}
		out = out[1:]
	}
	return out, nil
}

// counts are those of the nodes.
func (g *gauge) counts() (all counts, err error) {
	for i, n := range g.nodes {
		sums, scores := g.totals[i][:], []byte(nil)
		if n.Counts() {
			if sums, err = g.exe.Sums(n); err == nil {
				scores, err = g.exe.Scores(n)
			}
		}
		if err != nil {
			return all, err
		}
		all.sums, all.scores = append(all.sums, sums...), append(all.scores, scores)
	}
	return all, nil
}

// joined are the scores of each node, of all workers.
func joined(of ...[][]byte) [][][]byte {
	var all [][][]byte
	for _, scores := range of {
		all = append(all, make([][][]byte, max(0, len(scores)-len(all)))...)
		for i, its := range scores {
			if len(its) > 0 {
				all[i] = append(all[i], its)
			}
		}
	}
	return all
}

// valuesOf are the values of nodes, from their sums, which others may follow, and the scores of each, if any.
func valuesOf(nodes []*nn.Node, sums []float64, scores [][][]byte) (values, rest []float64, err error) {
	for i, n := range nodes {
		width, of := 2, func(s []float64, _ ...[]byte) (float64, error) { return s[0] / s[1], nil } // 0/0 is NaN
		if n.Counts() {
			width, of = n.SumsLen(), n.OfSums
		}
		if len(sums) < width {
			return nil, nil, fmt.Errorf("train: %v was not measured", n)
		}
		var its [][]byte
		if i < len(scores) {
			its = scores[i]
		}
		v, err := of(sums[:width], its...)
		if err != nil {
			return nil, nil, err
		}
		values, sums = append(values, v), sums[width:]
	}
	return values, sums, nil
}

// finite reports whether a value is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
