package nn

import "slices"

// plan is the work for one set of fetches: the nodes to compute and, when training, the nodes of the backward pass.
type plan struct {
	fetch []*Node
	train bool

	cells   []*cell // what the fetches (and the loss) need, inputs first
	trains  []bool  // by position in cells: the loss needs it, so it is computed as in training
	back    []*cell // nodes that pass gradients on, last first
	loss    *cell
	fetched []*cell
	alone   []bool // by position in fetched: nothing else reads the value

	feeds   []*cell
	lookups []*cell // embeddings
	looks   bool    // a training step reads rows that it does not train
	numbers []*cell // feeds that are used for more than looking up ids
	limits  []limit // on feeds
	shared  []bool  // by position in cells: the cell uses its input's memory
	// computed are the limits on a cell's computed inputs, by position in cells.
	computed [][]limit
	chains   []*chain
	metrics  []*chain // of a training step, which nothing in it depends on
}

// plan returns the plan for these fetches, stored from earlier steps or made now.
func (e *engine) plan(fetch []*Node, train bool) (*plan, error) {
	for _, p := range e.plans {
		if p.train == train && slices.Equal(p.fetch, fetch) {
			return p, nil
		}
	}
	if err := e.graph.fetchable(fetch); err != nil {
		return nil, err
	}
	p := &plan{fetch: slices.Clone(fetch), train: train}
	needed := fetch
	if loss := e.graph.objective; train {
		needed = append(slices.Clone(fetch), loss)
		needed = append(needed, e.graph.counting([]*Node{loss})...)
	}
	e.collect(p, needed)
	if train {
		p.loss = e.cell(e.graph.objective)
		e.planBack(p)
	}
	for _, n := range fetch {
		p.fetched = append(p.fetched, e.cell(n))
	}
	p.share()
	p.divide()
	e.plans = append(e.plans, p)
	return p, nil
}

// collect lists the ancestors of the nodes in order of construction, inputs first.
func (e *engine) collect(p *plan, needed []*Node) {
	need := ancestors(e.graph, needed)
	for _, n := range e.graph.nodes {
		if need[n.index] {
			p.include(e.cell(n))
		}
	}
	for _, n := range e.graph.counting(needed) {
		p.numbers = append(p.numbers, e.cell(n))
	}
}

// include adds a cell to the plan and to the lists of its kind.
func (p *plan) include(c *cell) {
	p.cells, p.computed = append(p.cells, c), append(p.computed, nil)
	if _, ok := c.node.op.(feed); ok {
		p.feeds = append(p.feeds, c)
	}
	if _, ok := c.node.op.(lookup); ok {
		p.lookups = append(p.lookups, c)
	}
	for i, in := range c.in {
		if !readsBits(c.node.op, i) {
			p.numbers = append(p.numbers, in) // tables and computed nodes make no difference
		}
	}
	if l, ok := c.node.op.(limiter); ok {
		for _, set := range l.limits(c.node) {
			p.limit(c, set)
		}
	}
}

// planBack lists the cells of the backward pass: gradients of the loss reach them, and they depend on a trained
// parameter. Lookups that no gradient reaches are beside the loss.
func (e *engine) planBack(p *plan) {
	behind, reached := ancestors(e.graph, []*Node{p.loss.node}), p.loss.node.reaches()
	for _, c := range p.cells {
		p.trains = append(p.trains, behind[c.node.index])
		c.wanted = reached[c.node.index] && c.trained()
		if c.wanted {
			p.back = append(p.back, c)
		}
		if _, ok := c.node.op.(lookup); ok {
			c.beside = !reached[c.node.index] && c.in[1].table.inStep >= 0
			p.looks = p.looks || c.beside
		}
	}
	slices.Reverse(p.back)
}

// trained reports whether the cell needs a gradient; its inputs must have been checked before.
func (c *cell) trained() bool {
	if isInt(c.node) {
		return false
	}
	if v, ok := c.node.op.(variable); ok {
		return !v.param.Frozen
	}
	for i, in := range c.in {
		if in.wanted && passes(c.node.op, i) {
			return true
		}
	}
	return false
}

// counted are the fetched metrics over several batches whose values nothing else reads.
func (p *plan) counted() (all []*cell) {
	for i, c := range p.fetched {
		if m, is := c.node.op.(metric); is && !forgets(m) && p.alone[i] {
			all = append(all, c)
		}
	}
	return all
}

// silence has metrics only count, or not.
func silence(metrics []*cell, silent bool) {
	for _, c := range metrics {
		c.silent = silent
	}
}

// share finds the fetches that nothing else reads, and the cells that may use their input's memory: an elementwise op
// that is the only user of a value that is not fetched, and whose own op does not read it again.
func (p *plan) share() {
	users := map[*cell]int{p.loss: 1}
	for _, c := range p.fetched {
		users[c]++
	}
	for _, c := range p.cells {
		for _, in := range c.in {
			users[in]++
		}
	}
	for _, c := range p.fetched {
		p.alone = append(p.alone, users[c] == 1)
	}
	p.shared = make([]bool, len(p.cells))
	for i, c := range p.cells {
		if _, ok := c.node.op.(inPlacer); ok {
			_, free := c.in[0].node.op.(overwritable)
			p.shared[i] = free && users[c.in[0]] == 1
		}
	}
}

// cell returns the node's cell in this executor, with its inputs' cells.
func (e *engine) cell(n *Node) *cell {
	for len(e.cells) < len(e.graph.nodes) {
		e.cells = append(e.cells, nil)
	}
	if c := e.cells[n.index]; c != nil {
		return c
	}
	c := &cell{node: n, cores: &e.cores}
	for _, in := range n.in {
		c.in = append(c.in, e.cell(in))
	}
	e.equip(c)
	e.cells[n.index] = c
	return c
}

// equip allocates the parts of a cell that outlast a step.
func (e *engine) equip(c *cell) {
	if v, ok := c.node.op.(variable); ok {
		c.shape = v.param.Shape
		if v.param.Embedding {
			c.table = e.held.tableOf(v.param)
			return
		}
		c.param = e.held.own(v.param)
		c.value, c.grad = c.param.W, c.param.G
		c.finite = e.session == nil && e.graph.finite[c.param.Name]
		if c.finite && len(c.param.Shape) == 2 {
			c.packed = e.packed[c.param.Name]
		}
	}
	if varies(c.node) {
		c.offsetsName = c.node.name + ".offsets"
	}
	if m, ok := c.node.op.(metric); ok {
		e.equipMetric(c, m)
	}
}

func (e *engine) equipMetric(c *cell, m metric) {
	if e.counts == nil || forgets(m) {
		c.tally = m.tally(c.node)
		return
	}
	c.tally, c.shared = e.counts.of(c.node, m), e.counts
}

// bind points the cells to this step's memory, which grows if the batch is larger than all before.
func (e *engine) bind(p *plan, b *feedBatch) {
	e.cores.ready(e.step.Threads)
	var turn turn
	if p.train {
		turn = e.graph.turn(e.step.Thread, e.step.Threads)
		e.step.Number = turn.number
	}
	for i, c := range p.feeds {
		c.value, c.ids, c.wide, c.offsets = b.floats[i], b.ids[i], b.wide[i], b.offsets[i]
	}
	for i, c := range p.cells {
		c.train, c.turn = p.train && p.trains[i], turn
		if c.param != nil || c.table != nil {
			continue
		}
		c.shape = withRows(c.shape, c.node.shape, b.rows)
		if !isLeaf(c.node) {
			c.bind(p.shared[i])
		}
	}
}

func (c *cell) bind(shared bool) {
	n := product(c.shape)
	if shared {
		c.value, c.grad = c.in[0].value, c.in[0].grad
		return
	}
	if isInt(c.node) {
		c.ids = grown(c.ids, n)
		return
	}
	c.values = grown(c.values, n)
	c.value = c.values
	if c.train && c.wanted {
		c.grads = grown(c.grads, n)
		c.grad = c.grads
	}
}

// limit adds a limit on an input of the cell that was added last.
func (p *plan) limit(c *cell, l limit) {
	l.at = c.in[l.input]
	if cast, ok := l.at.node.op.(cast); ok && cast.To == Float32 {
		l.at = l.at.in[0] // its values are the same
	}
	if isFeed(l.at.node) {
		p.limits = append(p.limits, l)
		return
	}
	last := len(p.cells) - 1
	p.computed[last] = append(p.computed[last], l)
}

// counts returns the tallies of the fetched metrics.
func (p *plan) counts() map[*Node]tally {
	counts := map[*Node]tally{}
	for _, c := range p.fetched {
		if c.tally != nil {
			counts[c.node] = c.tally
		}
	}
	return counts
}
