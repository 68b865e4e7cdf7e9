package gradient

import (
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Merger makes one step of steps that travel together, as the strategy's Merge says: by param, the sum of their gradients, or the
// mean weighted by samples.
type Merger struct {
	sums   []bool             // by param
	tables []int              // by embedding, its param
	params []*optimizer.Param // whose gradients they are
	folder Folder
	both   [2]Rows
}

// NewMerger merges steps of params under a rule.
func NewMerger(params []*optimizer.Param, rule optimizer.Rule, s strategy.Strategy) *Merger {
	m := &Merger{params: params, sums: make([]bool, len(params))}
	for i, p := range params {
		m.sums[i] = s.Sums(optimizer.Additive(optimizer.RuleFor(rule, p)))
		if p.Embedding {
			m.tables = append(m.tables, i)
		}
	}
	return m
}

// Add adds s to a step in memory of [NewStep].
func (m *Merger) Add(to *Step, s Step) {
	total := float64(to.Samples + s.Samples)
	mean := [2]float32{float32(float64(to.Samples) / total), float32(float64(s.Samples) / total)}
	to.Samples += s.Samples
	for i, g := range s.Dense {
		if m.sums[i] {
			kernels.Axpy(1, g, to.Dense[i])
			continue
		}
		kernels.Scale(mean[0], to.Dense[i])
		kernels.Axpy(mean[1], g, to.Dense[i])
	}
	for e, i := range m.tables {
		factors := mean
		if m.sums[i] {
			factors = [2]float32{1, 1}
		}
		m.both = [2]Rows{to.Rows[e], s.Rows[e]}
		to.Rows[e].Set(m.folder.Fold(m.params[i].Dim(), m.both[:], factors[:], strategy.WeightSamples))
	}
}
