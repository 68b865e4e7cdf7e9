package gradient

import "github.com/gofleet/gofleet/optimizer"

// Step is what a step hands over to the keeper of the weights, or what several steps do together.
type Step struct {
	// Samples are the batch's. None says that nothing is handed over.
	Samples int
	// Dense are the gradients of variables, by param; nil for embeddings and what is frozen.
	Dense [][]float32
	// Rows are the embeddings', in the order of the params; no rows of one that is frozen.
	Rows []Rows
}

// NewStep is memory for copies of the steps of params.
func NewStep(params []*optimizer.Param) Step {
	s := Step{Dense: make([][]float32, len(params)), Rows: make([]Rows, len(tables(params)))}
	for i, p := range params {
		if !p.Embedding && !p.Frozen {
			s.Dense[i] = make([]float32, len(p.G))
		}
	}
	return s
}

// tables are the embeddings among params.
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

// NumRows is how many rows of embeddings the step hands over.
func (s Step) NumRows() (n int) {
	for _, r := range s.Rows {
		n += len(r.IDs)
	}
	return n
}
