package nn

import (
	"context"
	"math"

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

// looking reads the rows that a training step looks up beside its loss, if its [optimizer.Trainer] does not: in a
// session of its own that only evaluates. The training session works as it would without them.
type looking struct {
	session optimizer.Session
	step    optimizer.Step
}

// look reads the rows that the plan looks up beside its loss into the step's memory.
func (e *engine) look(ctx context.Context, p *plan, b *feedBatch) (err error) {
	if !p.looks || e.looks {
		return nil
	}
	if e.looking == nil {
		e.looking, err = e.graph.look()
	}
	if err == nil {
		err = e.looking.read(ctx, e, b.rows)
	}
	if err != nil {
		e.ended = err
	}
	return err
}

// look opens a session that uses copies of all parameters.
func (g *Graph) look() (*looking, error) {
	objective, trainer := g.bound()
	l := &looking{step: optimizer.Step{Eval: true}}
	var params []*optimizer.Param
	for _, p := range objective.Params() {
		p = copyParam(p)
		if params = append(params, p); p.Embedding {
			l.step.Rows = append(l.step.Rows, optimizer.Rows{Param: p})
		}
	}
	var err error
	l.session, err = trainer.Open(params)
	return l, err
}

func (l *looking) read(ctx context.Context, e *engine, examples int) error {
	l.step.Samples, l.step.Thread, l.step.Threads = examples, e.step.Thread, e.step.Threads
	for i, r := range e.beside {
		l.step.Rows[i].IDs, l.step.Rows[i].W = r.IDs, r.W
	}
	if err := l.session.Begin(ctx, &l.step); err != nil {
		return err
	}
	return l.session.End(ctx, &l.step)
}

func (l *looking) close(ctx context.Context) error {
	if l == nil || l.session == nil {
		return nil
	}
	return l.session.Close(ctx)
}

// counting returns the feeds of counts for the tables on which the nodes depend.
func (g *Graph) counting(nodes []*Node) (feeds []*Node) {
	if len(g.counts) == 0 {
		return nil
	}
	for _, n := range behind(g, nodes) {
		feeds = append(feeds, g.counts[n.name].feeds()...)
	}
	return feeds
}

// countBatch adds up the shows and clicks of every row in the batch: an id that an example has twice is shown twice.
func (e *engine) countBatch(p *plan, b *feedBatch) {
	if !p.train || len(e.graph.counts) == 0 {
		return
	}
	for _, t := range e.held.tables {
		t.clearCounts(e.graph.counts[t.param.Name])
	}
	for _, c := range p.lookups {
		if c.beside {
			continue
		}
		t := c.in[1].table
		from := e.graph.counts[t.param.Name]
		if !from.any() {
			continue
		}
		show, click := b.numbers(p, from.show, 1), b.numbers(p, from.click, 0)
		c.eachID(func(example int, row int32) {
			t.rows.Show[row] += show(example)
			t.rows.Click[row] += click(example)
		})
	}
}

// clearCounts sets the counts to zero, if the table has feeds of counts.
func (t *table) clearCounts(from counts) {
	if !from.any() {
		return
	}
	n := len(t.rows.IDs)
	t.show, t.click = grown(t.show, n), grown(t.click, n)
	clear(t.show)
	clear(t.click)
	t.rows.Show, t.rows.Click = t.show, t.click
}

// numbers returns a feed's number of each example; without a feed all have the same.
func (b *feedBatch) numbers(p *plan, n *Node, same float32) func(example int) float32 {
	for i, c := range p.feeds {
		if c.node != n {
			continue
		}
		if isInt(n) {
			return func(example int) float32 { return float32(b.ids[i][example]) }
		}
		return func(example int) float32 { return b.floats[i][example] }
	}
	return func(int) float32 { return same }
}

// eachID calls f for every id of a lookup: with its example and its row in the step. Padding has no row.
func (c *cell) eachID(f func(example int, row int32)) {
	ids, next := c.in[0], 0
	length := math.MaxInt
	if s, ok := c.node.op.(embeddingSequence); ok {
		length = s.Length
	} else if !isSlot(ids.node) {
		length = ids.node.perExample()
	}
	for example := range c.rows() {
		_, n := kept(ids, example, length)
		for _, row := range c.index[next : next+n] {
			if row >= 0 {
				f(example, row)
			}
		}
		next += n
	}
}
