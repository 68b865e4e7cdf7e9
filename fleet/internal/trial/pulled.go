package trial

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/optimizer"
)

// Pulled is an objective of any params: each weight is pulled towards an example's x by a gradient of bounded size, so
// that any rule trains it.
type Pulled struct{ Objective }

// Batch is the data of one thread in one step: the target, and ids for every table.
type Batch struct {
	X       float32
	Samples int
	IDs     [][]uint64
}

// Step returns the step of a batch, with the rows of the next batch if it is known.
func (m *Pulled) Step(b Batch, next *Batch) *optimizer.Step {
	st := &optimizer.Step{Samples: b.Samples}
	for _, p := range m.List {
		if !p.Embedding {
			continue
		}
		e := len(st.Rows)
		r := RowsOf(p, b.IDs[e])
		if next != nil {
			r.Next = next.IDs[e]
		}
		st.Rows = append(st.Rows, r)
	}
	return st
}

// Gradients fills in the gradients of a step, and its loss, which must be a number.
func (m *Pulled) Gradients(st *optimizer.Step, x float32) error {
	for _, p := range m.List {
		if !p.Embedding && !p.Frozen {
			st.Loss += pull(p.G, p.W, x)
		}
	}
	for _, r := range st.Rows {
		st.Loss += pull(r.G, r.W, x)
	}
	if math.IsNaN(st.Loss) || math.IsInf(st.Loss, 0) {
		return fmt.Errorf("the loss is %v", st.Loss)
	}
	return nil
}

func pull(g, w []float32, x float32) (loss float64) {
	for i := range g {
		far := w[i] - x + float32(i%3)/4
		g[i] = max(-1, min(far, 1))
		loss += math.Abs(float64(far))
	}
	return loss
}
