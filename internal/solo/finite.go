package solo

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Finite applies the strategy's policy to a step's gradients that hold NaN or infinities, before another worker sees them, counts
// them, and returns the rows that are left.
func (n *Tally) Finite(policy strategy.NotFinite, params []*optimizer.Param, rows []optimizer.Rows) ([]optimizer.Rows, error) {
	for _, p := range params {
		if p.Embedding || p.Frozen {
			continue
		}
		at := kernels.FirstNotFinite(p.G)
		if at < 0 {
			continue
		}
		if policy == strategy.NotFiniteRefuse {
			return nil, fmt.Errorf("the gradient of %q is %v at element %d: %s", p.Name, p.G[at], at, remedy)
		}
		n.NotFinite.Add(1)
		mend(policy, p.G)
	}
	for e, r := range rows {
		if err := r.CheckCounts(); err != nil {
			return nil, err
		}
		at := kernels.FirstNotFinite(r.G)
		switch {
		case at < 0 || r.Param.Frozen:
		case policy == strategy.NotFiniteRefuse:
			return nil, fmt.Errorf("the gradient of row %d of %q is %v: %s", r.IDs[at/r.Param.Dim()], r.Param.Name, r.G[at], remedy)
		default:
			rows = slices.Clone(rows)
			rows[e] = n.finiteRows(policy, r)
		}
	}
	return rows, nil
}

// finiteRows leaves rows out that are not finite, or clips them.
func (n *Tally) finiteRows(policy strategy.NotFinite, r optimizer.Rows) optimizer.Rows {
	kept, dim := optimizer.Rows{Param: r.Param}, r.Param.Dim()
	for i, id := range r.IDs {
		g := slices.Clone(r.G[i*dim:][:dim])
		if kernels.FirstNotFinite(g) >= 0 {
			n.NotFinite.Add(1)
			if policy == strategy.NotFiniteSkip {
				continue
			}
			mend(policy, g)
		}
		kept.IDs, kept.G = append(kept.IDs, id), append(kept.G, g...)
		if r.Show != nil {
			kept.Show = append(kept.Show, r.Show[i])
		}
		if r.Click != nil {
			kept.Click = append(kept.Click, r.Click[i])
		}
	}
	return kept
}

const remedy = "lower the learning rate or look at the batch (strategy.NotFinite can skip or clip it)"

// mend makes the gradient of a variable or a row finite: 0 to skip it, or clipped.
func mend(policy strategy.NotFinite, g []float32) {
	if policy == strategy.NotFiniteSkip {
		clear(g)
		return
	}
	kernels.MakeFinite(g)
}
