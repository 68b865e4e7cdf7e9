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
	sums, _, err := measure(ctx, exe, rows.Shard(f.WorkerIndex(), f.WorkerNum()), nodes, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	all, err := f.AllReduce(ctx, sums, fleet.Sum)
	if err != nil {
		return nil, err
	}
	values, _, err := valuesOf(nodes, all)
	if err != nil {
		return nil, err
	}
	return values, exe.Close(ctx)
}

// measurable refuses a node without a value for all rows together.
func measurable(n *nn.Node) error {
	if n.Counts() || perExample(n) == 1 && (len(n.Shape()) == 0 || n.Shape()[0] == 1) {
		return nil
	}
	return fmt.Errorf("%v, is neither a metric that counts over batches nor one number: take its nn.Mean", n)
}

// measure returns the sums of nodes over rows, one node after the other, and the spreads of the predictions in preds.
// It passes the rows to tallies too, and to a constant prediction, whose sums come last.
func measure(ctx context.Context, exe *nn.Executor, rows *dataset.Dataset, nodes, preds []*nn.Node,
	tallies []*verdict.Tally, always *constant) (sums, spreads []float64, err error) {
	fetch, apart := slices.Concat(nodes, preds), make([]check.Spread, len(preds))
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
			return nil, nil, err
		}
		out, err := exe.Eval(ctx, batch, fetch...)
		if err != nil {
			return nil, nil, err
		}
		for i, pred := range preds {
			apart[i].See(pred, out[len(nodes)+i].Float32s(), exe.Examples())
		}
		at := len(nodes) + len(preds)
		for _, t := range tallies {
			n := len(t.Fetch())
			t.See(out[at : at+n])
			at += n
		}
		g.add(out)
		if always != nil {
			always.see(ctx, batch, exe.Examples(), out[behind:])
		}
	}
	for _, s := range apart {
		spreads = append(spreads, s[:]...)
	}
	if sums, err = g.sums(); err != nil || always == nil {
		return sums, spreads, err
	}
	more, err := always.gauge.sums()
	return append(sums, more...), spreads, err
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

// add adds the values of the executor's last batch, which begin with those of the nodes.
func (g *gauge) add(out []*tensor.Dense) {
	for i, n := range g.nodes {
		if w := g.exe.Weight(n); w > 0 {
			g.totals[i][0] += nn.Scalar(out[i]) * w
			g.totals[i][1] += w
		}
	}
}

// sums are the sums of the nodes, one after the other.
func (g *gauge) sums() (sums []float64, err error) {
	for i, n := range g.nodes {
		s := g.totals[i][:]
		if n.Counts() {
			if s, err = g.exe.Sums(n); err != nil {
				return nil, err
			}
		}
		sums = append(sums, s...)
	}
	return sums, nil
}

// valuesOf are the values of nodes, from their sums, which others may follow.
func valuesOf(nodes []*nn.Node, sums []float64) (values, rest []float64, err error) {
	for _, n := range nodes {
		width, of := 2, func(s []float64) (float64, error) { return s[0] / s[1], nil } // 0/0 is NaN
		if n.Counts() {
			width, of = n.SumsLen(), n.OfSums
		}
		if len(sums) < width {
			return nil, nil, fmt.Errorf("train: %v was not measured", n)
		}
		v, err := of(sums[:width])
		if err != nil {
			return nil, nil, err
		}
		values, sums = append(values, v), sums[width:]
	}
	return values, sums, nil
}

// finite reports whether a value is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
