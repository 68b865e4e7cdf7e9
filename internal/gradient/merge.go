package gradient

import (
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Merger merges steps that are sent together, as the strategy's Merge says: by param, the sum of their gradients, or
// the mean weighted by samples.
type Merger struct {
	tables        []*optimizer.Param // the embeddings
	dense, sparse []bool             // by param, and by embedding: gradients are summed
	folder        Folder
	both          [2]Rows
}

// NewMerger returns a merger for steps of params under a rule.
func NewMerger(params []*optimizer.Param, rule optimizer.Rule, s strategy.Strategy) *Merger {
	m := &Merger{tables: tables(params)}
	for _, p := range params {
		sums := s.Sums(rules.Additive(rules.For(rule, p)))
		if m.dense = append(m.dense, sums); p.Embedding {
			m.sparse = append(m.sparse, sums)
		}
	}
	return m
}

// Add merges s into the step to, which NewStep has made.
func (m *Merger) Add(to *Step, s Step) {
	total := float64(to.Samples + s.Samples)
	mean := [2]float32{float32(float64(to.Samples) / total), float32(float64(s.Samples) / total)}
	to.Samples += s.Samples
	for i, g := range s.Dense {
		if m.dense[i] {
			kernels.Axpy(1, g, to.Dense[i])
			continue
		}
		kernels.Scale(mean[0], to.Dense[i])
		kernels.Axpy(mean[1], g, to.Dense[i])
	}
	for e, p := range m.tables {
		factors := mean
		if m.sparse[e] {
			factors = [2]float32{1, 1}
		}
		m.both = [2]Rows{to.Rows[e], s.Rows[e]}
		to.Rows[e].Set(m.folder.Fold(p, m.both[:], factors[:], strategy.WeightSamples))
	}
}
