package nn

import (
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// table is an embedding in an executor: the rows that this step's batch uses.
type table struct {
	param  *optimizer.Param
	index  int             // position among the executor's tables
	inStep int             // position in Step.Rows, -1 if the trainer does not have it
	rows   *optimizer.Rows // this step's
	own    optimizer.Rows  // the memory of rows if the trainer does not have the table
	absent func(i int)     // birthless; stored so that a step allocates nothing
	w, g   []float32       // memory of the rows; in w rows that are read beside the loss come last
	// show and click are memory for a step's counts.
	show, click []float32
}

// openTables lists the embeddings of the session, in the order of its params, as the step has them.
func (e *engine) openTables(params []*optimizer.Param) {
	e.step.Rows, e.beside = nil, nil
	for _, p := range params {
		if p.Embedding {
			t := e.held.addTable(e.held.own(p))
			t.inStep = len(e.step.Rows)
			e.step.Rows = append(e.step.Rows, optimizer.Rows{Param: t.param})
			e.beside = append(e.beside, optimizer.Rows{Param: t.param})
		}
	}
	for _, t := range e.held.tables {
		t.rows = &e.step.Rows[t.inStep]
	}
}

// tableOf returns the table of a param; the executor has its own of one that is not in the session.
func (h *holding) tableOf(p *optimizer.Param) *table {
	own := h.own(p)
	for _, t := range h.tables {
		if t.param == own {
			return t
		}
	}
	t := h.addTable(own)
	t.rows = &t.own
	t.own.Param = own
	return t
}

func (h *holding) addTable(p *optimizer.Param) *table {
	t := &table{param: p, index: len(h.tables), inStep: -1}
	t.absent = t.birthless
	h.tables = append(h.tables, t)
	return t
}

// describe fills in the step for the trainer.
func (e *engine) describe(p *plan, b, next *feedBatch) {
	e.step.Samples, e.step.Eval = b.rows, !p.train
	for _, t := range e.held.tables {
		t.describe(p.train, b.unique(t), next.unique(t), len(b.tables[t.index].beside.unique))
	}
	e.step.Beside = nil
	if p.looks {
		e.describeBeside(b, next)
	}
	for _, c := range p.lookups {
		c.index = b.rowsOf(p, c)
	}
	e.countBatch(p, b)
}

// describeBeside describes the rows that are read beside the loss, with their memory: after the step's.
func (e *engine) describeBeside(b, next *feedBatch) {
	for _, t := range e.held.tables {
		if t.inStep >= 0 {
			r := &e.beside[t.inStep]
			r.IDs, r.W, r.Next = b.tables[t.index].beside.unique, t.w[len(t.rows.W):], nil
			if next != nil {
				r.Next = next.tables[t.index].beside.unique
			}
		}
	}
	if e.looks {
		e.step.Beside = e.beside
	}
}

// describe fills in the rows of the step, and makes room for beside rows that are read beside the loss.
func (t *table) describe(train bool, ids, next []uint64, beside int) {
	n := len(ids) * t.param.Dim()
	t.w = grown(t.w, n+beside*t.param.Dim())
	t.rows.IDs, t.rows.Next, t.rows.W, t.rows.G = ids, next, t.w[:n], nil
	t.rows.Show, t.rows.Click = nil, nil
	if train {
		t.g = grown(t.g, n)
		clear(t.g)
		t.rows.G = t.g
	}
}

// rowReader are loaded rows. Rows sets those of ids, one after the other, and calls absent for an id without one.
type rowReader interface {
	Rows(w []float32, ids []uint64, absent func(i int))
}

// fillOwn fills the rows that no trainer has: as loaded, or with the initial values, which are zeros for open ids.
func (e *engine) fillOwn() {
	for _, t := range e.held.tables {
		if t.inStep >= 0 {
			continue
		}
		if loaded, is := t.param.Rows.(rowReader); is {
			loaded.Rows(t.rows.W, t.rows.IDs, t.absent)
			continue
		}
		for i := range t.rows.IDs {
			t.birthless(i)
		}
	}
}

// birthless sets row i of the step to what a row is that does not exist and will not be created.
func (t *table) birthless(i int) {
	dim := t.param.Dim()
	w := t.rows.W[i*dim : (i+1)*dim]
	if t.param.Height() == 0 {
		clear(w)
		return
	}
	t.param.InitRow(w, t.rows.IDs[i])
}

// tableIDs is what a batch needs from one table: the ids of lookups that are trained, or read by an evaluation, and the
// ids of lookups beside the loss.
type tableIDs struct{ step, beside idSet }

// idSet is the ids of some lookups, one lookup after the other, and the unique ones.
type idSet struct {
	ids     []uint64
	uniquer kernels.Uniquer
	unique  []uint64
	inverse []int32
	taken   int // of inverse, by the lookups so far
}

func (s *idSet) reset() { s.ids, s.unique, s.inverse, s.taken = s.ids[:0], nil, nil, 0 }

func (s *idSet) finish() { s.unique, s.inverse = kernels.Unique(s.ids, &s.uniquer) }
