package session

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/optimizer"
)

// checkStep refuses a step whose rows do not fit the layout, before anything of it is sent. It compares sizes, ids and
// counts with the layout; the intake checks the numbers.
func checkStep(w *Worker, st *optimizer.Step) error {
	l := w.Layout
	if len(st.Rows) != len(l.Embeddings) {
		return fmt.Errorf("a step has rows of %d embeddings: the objective has %d", len(st.Rows), len(l.Embeddings))
	}
	for e := range l.Embeddings {
		emb, r := &l.Embeddings[e], &st.Rows[e]
		if r.Param == nil || r.Param.Name != emb.Name {
			return fmt.Errorf("step.Rows[%d] is for %s, want %q", e, nameOf(r.Param), emb.Name)
		}
		if want := len(r.IDs) * r.Param.Dim(); len(r.W) != want || !st.Eval && len(r.G) != want {
			return fmt.Errorf("embedding %q: %d ids need %d values, have %d weights and %d gradients",
				r.Param.Name, len(r.IDs), want, len(r.W), len(r.G))
		}
		if err := r.CheckCounts(); err != nil {
			return err
		}
		if err := checkIDs(emb, r.IDs); err != nil {
			return err
		}
	}
	if err := checkBeside(w, st.Beside); err != nil {
		return err
	}
	if !st.Eval && st.Samples <= 0 {
		return fmt.Errorf("a training step of %d samples", st.Samples)
	}
	return nil
}

// checkBeside refuses rows beside a step's own that do not fit the layout. Such rows are read for a step and have no
// gradient.
func checkBeside(w *Worker, beside []optimizer.Rows) error {
	if n := len(w.Layout.Embeddings); beside != nil && len(beside) != n {
		return fmt.Errorf("a step reads rows of %d embeddings beside: the objective has %d", len(beside), n)
	}
	for e, r := range beside {
		emb := &w.Layout.Embeddings[e]
		if want := len(r.IDs) * emb.Dim(); len(r.W) != want {
			return fmt.Errorf("embedding %q: %d ids beside a step need %d values, have %d", emb.Name, len(r.IDs), want,
				len(r.W))
		}
		if err := checkIDs(emb, r.IDs); err != nil {
			return err
		}
	}
	return nil
}

// checkIDs refuses ids that don't ascend or are out of the embedding's range.
func checkIDs(emb *layout.Embedding, ids []uint64) error {
	if err := increasing(ids); err != nil {
		return fmt.Errorf("embedding %q: %w", emb.Name, err)
	}
	return emb.CheckIDs(ids)
}

// increasing refuses ids that come twice or out of order, since servers and merges need that order.
func increasing(ids []uint64) error {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return fmt.Errorf("id %d after %d: a step's ids are unique and increasing", ids[i], ids[i-1])
		}
	}
	return nil
}

// nameOf is a param's name for an error; a step may have no param there.
func nameOf(p *optimizer.Param) string {
	if p == nil {
		return "no param"
	}
	return fmt.Sprintf("%q", p.Name)
}
