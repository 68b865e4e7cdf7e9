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

	feeds   []*cell
	lookups []*cell // embeddings
	looks   bool    // a training step reads rows that it does not train
	numbers []*cell // feeds that are used for more than looking up ids
	limits  []limit // on feeds
	shared  []bool  // by position in cells: the cell uses its input's memory
	// computed are the limits on a cell's computed inputs, by position in cells.
	computed [][]limit
	chains   []*chain
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
	if !readsBits(c.node.op) {
		p.numbers = append(p.numbers, c.in...) // tables and computed nodes make no difference
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

// share finds the cells that may use their input's memory: an elementwise op that is the only user of a value that is
// not fetched, and whose own op does not read it again.
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
	p.shared = make([]bool, len(p.cells))
	for i, c := range p.cells {
		if _, ok := c.node.op.(inPlacer); ok {
			_, free := c.in[0].node.op.(overwritable)
			p.shared[i] = free && users[c.in[0]] == 1
		}
	}
}

// ancestors marks the nodes and all nodes on which they depend, by index.
func ancestors(g *Graph, nodes []*Node) []bool {
	need := make([]bool, len(g.nodes))
	for _, n := range nodes {
		need[n.index] = true
	}
	for i := len(g.nodes) - 1; i >= 0; i-- {
		if need[i] {
			for _, in := range g.nodes[i].in {
				need[in.index] = true
			}
		}
	}
	return need
}
