package gradient

import (
	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// Intake takes the gradients of a training thread's steps: it arranges them by param, runs the guard, and clips where
// the worker clips. Every trainer has one for each of its sessions.
type Intake struct {
	params []*optimizer.Param
	tables []*optimizer.Param // the embeddings among them
	limits map[string]float32 // the largest gradients of their rules, by name
	guard  Guard
	clip   *Clipper
	step   Step
	left   []Rows      // by embedding: copies of rows, if some were not finite
	clicks [][]float32 // by embedding
}

// NewIntake returns the intake of a thread that trains params by a rule. clip is nil if another process clips.
func NewIntake(params []*optimizer.Param, rule optimizer.Rule, guard Guard, clip *Clipper) *Intake {
	all := tables(params)
	n := len(all)
	return &Intake{params: params, tables: all, limits: rules.Limits(rule, params), guard: guard, clip: clip,
		left: make([]Rows, n), clicks: make([][]float32, n),
		step: Step{Dense: make([][]float32, len(params)), Rows: make([]Rows, n)}}
}

// Take returns the gradients of a training step. They share memory with the step, which later stages may change, and
// with the intake; they are valid until the next call. The error is the guard's, or that of shows and clicks that are
// not valid.
func (k *Intake) Take(st *optimizer.Step) (Step, error) {
	k.step.Samples = st.Samples
	for i, p := range k.params {
		if p.Embedding || p.Frozen {
			continue
		}
		if err := k.guard.Dense(p.Name, p.G, k.limits[p.Name]); err != nil {
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

// rows returns an embedding's rows. It drops shows and clicks that the table does not count.
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
	return k.guard.Rows(p.Name, p.Dim(), rows, k.limits[p.Name], &k.left[e])
}

// rowsOf returns a step's rows of its e-th embedding, which an objective may omit or list at another place.
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
