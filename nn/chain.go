package nn

import "slices"

// chain is one cell, or several by example, each computed from the ones before. A core takes a portion of the examples
// through all of them. Cores then wait for each other once a chain, and a cell's value is still in a cache when the
// next cell needs it.
type chain struct {
	cells    []*cell
	outside  []*cell    // inputs with examples of these cells
	alone    []*chain   // a chain of each cell alone
	portions []*portion // made when needed
	n        int        // number of portions in this step, 0 if cells are computed whole
	lists    [][]int    // cells with gradients for inputs without examples: one core takes a list, in order
	passes   bool       // some gradients are for inputs with examples
	cores    *cores     // that compute it in this step
	limits   []limit    // on computed inputs of the first cell
}

// portion is a chain's cells for some of its examples, with memory of their own for ops.
type portion struct{ cells, outside []*cell }

// divide divides all cells except leaves, which compute nothing, into chains as long as possible.
func (p *plan) divide() {
	long := false // whether the last chain may grow
	for i, c := range p.cells {
		if isLeaf(c.node) {
			continue
		}
		joins := divisible(c) && p.computed[i] == nil
		if _, own := c.node.op.(ownRows); own {
			joins = false
		}
		if !joins || !long {
			p.chains = append(p.chains, &chain{limits: p.computed[i]})
		}
		p.chains[len(p.chains)-1].add(c)
		long = joins
	}
	if p.train {
		p.setAside()
	}
	for _, s := range p.chains {
		s.list()
		if len(s.cells) == 1 {
			s.alone = nil
		}
	}
}

// divisible reports whether a cell can be computed in portions.
func divisible(c *cell) bool {
	_, is := c.node.op.(byExample)
	return is && batched(c.node) && !slices.ContainsFunc(c.in, func(in *cell) bool {
		// kernels sum up the gradient of a single number in their own order
		return varies(in.node) || !batched(in.node) && product(in.node.shape) == 1
	})
}

// add appends a cell to a chain.
func (s *chain) add(c *cell) {
	one := &chain{cells: []*cell{c}}
	for _, in := range c.in {
		if !batched(in.node) {
			continue
		}
		one.passes = one.passes || in.wanted
		one.outside = include(one.outside, in)
		if !slices.Contains(s.cells, in) {
			s.outside = include(s.outside, in)
		}
	}
	s.cells, s.alone, s.passes = append(s.cells, c), append(s.alone, one), s.passes || one.passes
	one.list()
}

func include(all []*cell, c *cell) []*cell {
	if slices.Contains(all, c) {
		return all
	}
	return append(all, c)
}

// list finds the cells with gradients for inputs without examples. Cells with the same inputs are in one list, the last
// first.
func (s *chain) list() {
	for i := len(s.cells) - 1; i >= 0; i-- {
		to := s.cells[i].common()
		if len(to) == 0 {
			continue
		}
		own := []int{}
		s.lists = slices.DeleteFunc(s.lists, func(l []int) bool {
			meets := slices.ContainsFunc(l, func(j int) bool {
				return slices.ContainsFunc(s.cells[j].common(), func(c *cell) bool { return slices.Contains(to, c) })
			})
			if meets {
				own = append(own, l...)
			}
			return meets
		})
		slices.SortFunc(own, func(a, b int) int { return b - a })
		s.lists = append(s.lists, append(own, i))
	}
}

// common returns the inputs that have no examples and want a gradient.
func (c *cell) common() (all []*cell) {
	for _, in := range c.in {
		if in.wanted && !batched(in.node) {
			all = append(all, in)
		}
	}
	return all
}

// compute sets the values of a chain's cells, with several cores if that pays.
func (w *cores) compute(s *chain) {
	if s.cores, s.n = w, w.portions(s); s.n == 0 {
		for _, one := range s.alone {
			w.compute(one)
		}
		if s.alone == nil {
			w.do(s.cells[0])
		}
		return
	}
	for len(s.portions) < s.n {
		s.portions = append(s.portions, s.portion())
	}
	w.run(nil, s, onward, s.n, 1)
}

// portions returns the number of portions for a chain, 0 if it stays whole.
func (w *cores) portions(s *chain) int {
	first, size := s.cells[0], 0
	_, own := first.node.op.(ownRows)
	if !divisible(first) || w.n < 2 && !own {
		return 0
	}
	rows := first.rows()
	most := min(4*w.n, rows/2) // an op may treat a single example differently
	if own {
		most = rows / 2 // its sums may have any order: on every machine it gets the same examples at once
	}
	for _, c := range s.cells {
		size = max(size, len(c.value))
		m, is := c.node.op.(multiplier)
		if !is {
			continue
		}
		most = min(most, m.rowsOf(c)/leastRows)
		if s.alone == nil || most < w.n { // products are divided as they are
			return 0
		}
	}
	for _, c := range s.outside {
		size = max(size, len(c.value))
	}
	if n := min(size/leastPortion, most); size >= leastDivided && n > 1 {
		return n
	}
	return 0
}

// units computes portions.
func (s *chain) units(_ *cell, from, to, _ int) {
	for i := from; i < to; i++ {
		p := s.portions[i]
		p.see(s, i, s.n)
		for _, c := range p.cells {
			if s.cores.failed.Load() == nil {
				s.cores.do(c)
			}
		}
	}
}

// backwards is a chain whose gradients are passed on.
type backwards struct{ *chain }

// units passes gradients on from portions, or to inputs without examples from lists of cells.
func (s backwards) units(_ *cell, from, to, part int) {
	for i := from; i < to; i++ {
		if part == backward {
			s.portions[i].goBack(s.chain)
			continue
		}
		for _, j := range s.lists[i] {
			s.share(j)
		}
	}
}

// undo passes the gradient of a portion's cell on, unless a cell has panicked.
func (s *chain) undo(c *cell) {
	if s.cores.failed.Load() == nil {
		s.cores.undo(c)
	}
}

// goBack passes the gradients of a chain's cells on, in the portions in which values were computed: first to inputs
// with examples, concurrently, then to inputs without, in order.
func (w *cores) goBack(s *chain) {
	switch {
	case s.n == 0 && s.alone != nil:
		for _, one := range slices.Backward(s.alone) {
			w.goBack(one)
		}
		return
	case s.n == 0:
		if c := s.cells[0]; c.wanted {
			c.settle()
			w.undo(c)
		}
		return
	}
	w.run(nil, backwards{s}, backward, s.n, 1)
	for _, p := range s.portions[:1] {
		for i, c := range s.cells {
			c.written = p.cells[i].written
		}
		for i, c := range s.outside {
			c.written = p.outside[i].written
		}
	}
	if len(s.lists) > 0 {
		w.run(nil, backwards{s}, toShared, len(s.lists), 1)
	}
}

// goBack passes gradients to inputs with examples.
func (p *portion) goBack(s *chain) {
	for i, c := range s.cells {
		p.cells[i].wanted, p.cells[i].written = c.wanted, c.written
	}
	for i, c := range s.outside {
		p.outside[i].wanted, p.outside[i].written = c.wanted, c.written
	}
	for i, c := range slices.Backward(p.cells) {
		if !c.wanted {
			continue
		}
		c.settle()
		if s.alone == nil && s.passes || s.alone != nil && s.alone[i].passes {
			s.undo(c)
		}
	}
	for _, c := range p.cells { // from now on to inputs without examples
		c.wanted = false
	}
	for _, c := range p.outside {
		c.wanted = false
	}
}

// share passes the gradient of a cell to inputs without examples.
func (s *chain) share(i int) {
	c := s.cells[i]
	if _, is := c.node.op.(multiplier); is {
		whole := s.alone[i]
		if whole.portions == nil {
			whole.portions = append(whole.portions, whole.portion())
		}
		whole.portions[0].see(whole, 0, 1)
		s.pass(c, whole.portions[0].cells[0])
		return
	}
	for _, p := range s.portions[:s.n] {
		s.pass(c, p.cells[i])
	}
}

// pass makes a portion of the cell pass on its gradients for inputs without examples.
func (s *chain) pass(c, p *cell) {
	for i, in := range p.in {
		if of := c.in[i]; !batched(of.node) {
			in.wanted, in.written = of.wanted, of.written
		}
	}
	s.undo(p)
	for i, in := range p.in {
		if of := c.in[i]; !batched(of.node) {
			of.written = in.written
		}
	}
}

// portion makes the cells of a portion.
func (s *chain) portion() *portion {
	p := &portion{}
	for range s.outside {
		p.outside = append(p.outside, &cell{})
	}
	for _, c := range s.cells {
		own := &cell{node: c.node}
		for i, in := range c.in {
			own.in = append(own.in, p.of(s, in))
			if before := slices.Index(c.in, in); before < i {
				own.in[i] = own.in[before]
			}
		}
		p.cells = append(p.cells, own)
	}
	return p
}

// of returns the portion's cell of an input; inputs without examples get a cell of their own.
func (p *portion) of(s *chain, in *cell) *cell {
	if i := slices.Index(s.cells, in); i >= 0 {
		return p.cells[i]
	}
	if i := slices.Index(s.outside, in); i >= 0 {
		return p.outside[i]
	}
	return &cell{}
}

// see makes a portion, the i-th of n, refer to its examples in this step.
func (p *portion) see(s *chain, i, n int) {
	for j, c := range s.outside {
		p.outside[j].show(c, i*c.rows()/n, (i+1)*c.rows()/n)
	}
	for j, c := range s.cells {
		own, from := p.cells[j], i*c.rows()/n
		own.train, own.turn, own.first = c.train, c.turn, from
		own.show(c, from, (i+1)*c.rows()/n)
		for k, in := range c.in {
			if !batched(in.node) {
				*own.in[k] = *in
				own.in[k].wanted = false
			}
		}
	}
}

// show makes p a view of some examples of another cell.
func (p *cell) show(of *cell, from, to int) {
	p.node, p.wide, p.shape = of.node, of.wide, append(p.shape[:0], of.shape...)
	p.shape[0] = to - from
	p.value, p.grad = someOf(of.value, of, from, to), someOf(of.grad, of, from, to)
	p.ids, p.index = someOf(of.ids, of, from, to), someOf(of.index, of, from, to)
}

// someOf returns a cell's numbers of some examples.
func someOf[T any](all []T, of *cell, from, to int) []T {
	per := len(all) / of.rows()
	return all[from*per : to*per]
}

// each calls f for all portions of a chain, and of the chains of its single cells.
func (s *chain) each(f func(p *portion)) {
	for _, p := range s.portions {
		f(p)
	}
	for _, one := range s.alone {
		one.each(f)
	}
}

// letGo drops a portion's references to other memory, such as a caller's feeds.
func (p *portion) letGo() {
	for _, c := range p.outside {
		c.value, c.ids = nil, nil
	}
}

// setAside takes metrics out of the chains of a training step: those that are only fetched.
func (p *plan) setAside() {
	p.chains = slices.DeleteFunc(p.chains, func(s *chain) bool {
		c := s.cells[0]
		alone := len(s.cells) == 1 && c.tally != nil && !slices.ContainsFunc(p.cells, func(other *cell) bool {
			return slices.Contains(other.in, c)
		})
		if alone {
			p.metrics = append(p.metrics, s)
		}
		return alone
	})
}
