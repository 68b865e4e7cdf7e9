package gradient

import "github.com/gofleet/gofleet/optimizer"

// Intake takes gradients over from a training thread: it knows where each lies in a step, keeps what is not finite out,
// and clips where that is the worker's part. It is the one door by which they come in, and every trainer has one for
// each of its sessions.
type Intake struct {
	params []*optimizer.Param
	tables []*optimizer.Param // the embeddings among them
	guard  Guard
	clip   *Clipper
	step   Step
	left   []Rows      // by embedding: copies of rows of which some were not finite
	clicks [][]float32 // by embedding
}

// NewIntake takes over the steps of a thread that trains params. clip is nil where the keeper of the weights
// clips.
func NewIntake(params []*optimizer.Param, guard Guard, clip *Clipper) *Intake {
	all := tables(params)
	n := len(all)
	return &Intake{params: params, tables: all, guard: guard, clip: clip, left: make([]Rows, n),
		clicks: make([][]float32, n),
		step:   Step{Dense: make([][]float32, len(params)), Rows: make([]Rows, n)}}
}

// Take is what a training step hands over. It lies in the step's arrays, which it may change, and in the intake's, and
// is valid until the next call.
func (k *Intake) Take(st *optimizer.Step) (Step, error) {
	k.step.Samples = st.Samples
	for i, p := range k.params {
		if p.Embedding || p.Frozen {
			continue
		}
		if err := k.guard.Dense(p.Name, p.G); err != nil {
			return Step{}, err
		}
		k.step.Dense[i] = p.G
	}
	for e, p := range k.tables {
		rows, err := k.rows(e, rowsOf(st.Rows, e, p.Name))
		if err != nil {
			return Step{}, err
		}
		k.step.Rows[e] = rows
	}
	if k.clip != nil {
		k.clip.Clip(k.step)
	}
	return k.step, nil
}

// rows are an embedding's. A table that does not read shows and clicks gets none.
func (k *Intake) rows(e int, r *optimizer.Rows) (Rows, error) {
	p := k.tables[e]
	if r == nil || p.Frozen {
		return Rows{}, nil
	}
	if err := r.CheckCounts(); err != nil {
		return Rows{}, err
	}
	rows := Rows{IDs: r.IDs, G: r.G}
	if p.Entry.Counts() && len(r.Show)+len(r.Click) > 0 {
		k.clicks[e] = appendPairs(k.clicks[e][:0], r)
		rows.Clicks = k.clicks[e]
	}
	return k.guard.Rows(p.Name, p.Dim(), rows, &k.left[e])
}

// rowsOf are a step's rows of its e-th embedding, which an objective may leave out or list elsewhere.
func rowsOf(all []optimizer.Rows, e int, name string) *optimizer.Rows {
	if e < len(all) && all[e].Param.Name == name {
		return &all[e]
	}
	for i := range all {
		if all[i].Param.Name == name {
			return &all[i]
		}
	}
	return nil
}
