package gradient

import "github.com/gofleet/gofleet/optimizer"

// Step holds the gradients of a training step, or of several that were merged.
type Step struct {
	// Samples is the batch's number of samples; 0 says that there are no gradients.
	Samples int
	// Dense holds the gradients of variables, by param; nil for embeddings and frozen params.
	Dense [][]float32
	// Rows holds the gradients of embeddings, in the order of params; a frozen one has no rows.
	Rows []Rows
}

// NewStep returns a step with memory for copies of steps of params.
func NewStep(params []*optimizer.Param) Step {
	s := Step{Dense: make([][]float32, len(params)), Rows: make([]Rows, len(tables(params)))}
	for i, p := range params {
		if !p.Embedding && !p.Frozen {
			s.Dense[i] = make([]float32, len(p.G))
		}
	}
	return s
}

// tables returns the embeddings among params.
func tables(params []*optimizer.Param) (all []*optimizer.Param) {
	for _, p := range params {
		if p.Embedding {
			all = append(all, p)
		}
	}
	return all
}

// Set makes s, which NewStep has made, a copy of o.
func (s *Step) Set(o Step) {
	s.Samples = o.Samples
	for i, g := range o.Dense {
		copy(s.Dense[i], g)
	}
	for e := range o.Rows {
		s.Rows[e].Set(o.Rows[e])
	}
}

// NumRows returns how many rows of embeddings have gradients.
func (s Step) NumRows() (n int) {
	for _, r := range s.Rows {
		n += len(r.IDs)
	}
	return n
}
