package nn

import "slices"

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

func (e *engine) forward(p *plan) error {
	for _, s := range p.chains {
		for i := range s.limits {
			if err := s.limits[i].check(s.cells[0].node); err != nil {
				return err
			}
		}
		e.cores.compute(s)
		if err := e.cores.err(); err != nil {
			return err
		}
	}
	return nil
}

// backward runs from the loss to the parameters. Cells that no gradient reached get a gradient of zero.
func (e *engine) backward(p *plan) error {
	for _, c := range p.back {
		c.written = false
	}
	p.loss.grad[0], p.loss.written = 1, true
	for _, s := range slices.Backward(p.chains) {
		e.cores.goBack(s)
	}
	for _, c := range p.back {
		if isLeaf(c.node) {
			c.settle()
		}
	}
	return e.cores.err()
}
