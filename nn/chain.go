package nn

import "slices"

// byExample is an op that computes an example of its value from that example of its inputs, and from inputs that are
// the same for all examples, to whose gradients it adds example by example, in order. So portions of a cell, some of
// its examples each, are cells themselves: cores work on them side by side, and the bits are the whole's.
type byExample interface{ byExample() }

// multiplier is an op by example that multiplies rows by a matrix. Portions of few rows aren't worth one, and the
// matrix gets its gradient from the whole cell at once, whose sums have an order of their own.
type multiplier interface {
	byExample
	rowsOf(c *cell) int
}

// chain is one cell, or several by example, each computed from what was before it. A core takes a portion of the
// examples through all of them, so that cores wait for each other once a chain, and what a cell leaves is in a cache
// when the next needs it.
type chain struct {
	cells    []*cell
	outside  []*cell    // with examples, that the cells are computed from
	alone    []*chain   // of each cell
	portions []*portion // made when needed
	n        int        // portions in this step, 0 while cells are computed whole
	lists    [][]int    // cells with gradients for what has no examples: a list is one core's, in order
	passes   bool       // gradients go to what has examples
	cores    *cores     // that work on it in this step
	limits   []limit    // on what the first cell is given that is computed
}

// portion is cells for some examples of a chain's, with memory of their own for what ops keep.
type portion struct{ cells, outside []*cell }

// divide makes chains of all cells but leaves, which compute nothing, as long as can be.
func (p *plan) divide() {
	long := false // the last may be longer
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
	for _, s := range p.chains {
		s.list()
		if len(s.cells) == 1 {
			s.alone = nil
		}
	}
}

// divisible says whether a cell can be computed portion by portion.
func divisible(c *cell) bool {
	_, is := c.node.op.(byExample)
	return is && batched(c.node) && !slices.ContainsFunc(c.in, func(in *cell) bool {
		// kernels add up all that is the gradient of one number, in an order of their own
		return varies(in.node) || !batched(in.node) && product(in.node.shape) == 1
	})
}

func batched(n *Node) bool { return len(n.shape) > 0 && n.shape[0] == batch }

// add brings a cell to a chain.
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

// list finds the cells with gradients for what has no examples. What is for the same is in one list, the last first.
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

// common are the inputs that have no examples and want a gradient.
func (c *cell) common() (all []*cell) {
	for _, in := range c.in {
		if in.wanted && !batched(in.node) {
			all = append(all, in)
		}
	}
	return all
}

// compute sets the values of a chain's cells, by several cores where that pays.
func (w *cores) compute(s *chain) {
	if s.cores, s.n = w, w.portions(s); s.n == 0 {
		for _, one := range s.alone {
			w.compute(one)
		}
		if s.alone == nil {
			w.do(s.cells[0], onward)
		}
		return
	}
	for len(s.portions) < s.n {
		s.portions = append(s.portions, s.portion())
	}
	w.run(nil, s, onward, s.n, 1)
}

// portions is how many a chain is worth, 0 for one that stays whole.
func (w *cores) portions(s *chain) int {
	first, size := s.cells[0], 0
	_, own := first.node.op.(ownRows)
	if !divisible(first) || w.n < 2 && !own {
		return 0
	}
	rows := first.rows()
	most := min(4*w.n, rows/2) // an example alone may go another way through an op than several
	if own {
		most = rows / 2 // it may add up as it likes: on every machine it is given the same examples at once
	}
	for _, c := range s.cells {
		size = max(size, len(c.value))
		m, is := c.node.op.(multiplier)
		if !is {
			continue
		}
		most = min(most, m.rowsOf(c)/leastRows)
		if s.alone == nil || most < w.n { // products are shared as they are
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

// units are portions, or lists of cells that pass gradients on to what has no examples.
func (s *chain) units(_ *cell, from, to, part int) {
	for i := from; i < to; i++ {
		switch part {
		case onward:
			p := s.portions[i]
			p.see(s, i, s.n)
			for _, c := range p.cells {
				s.do(c, onward)
			}
		case backward:
			s.portions[i].goBack(s)
		case toShared:
			for _, j := range s.lists[i] {
				s.share(j)
			}
		}
	}
}

// do is a part of the step of a portion's cell, if none has panicked.
func (s *chain) do(c *cell, part int) {
	if s.cores.failed.Load() == nil {
		s.cores.do(c, part)
	}
}

// goBack passes the gradients of a chain's cells on, by the portions in which values were computed: first to what has
// examples, side by side, then to what is the same for all, in order.
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
			w.do(c, backward)
		}
		return
	}
	w.run(nil, s, backward, s.n, 1)
	for _, p := range s.portions[:1] {
		for i, c := range s.cells {
			c.written = p.cells[i].written
		}
		for i, c := range s.outside {
			c.written = p.outside[i].written
		}
	}
	if len(s.lists) > 0 {
		w.run(nil, s, toShared, len(s.lists), 1)
	}
}

// settle makes the gradient zero where no path reached the cell.
func (c *cell) settle() {
	if !c.written && c.table == nil {
		clear(c.grad)
	}
}

// goBack passes gradients to what has examples.
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
			s.do(c, backward)
		}
	}
	for _, c := range p.cells { // from now on to what has none
		c.wanted = false
	}
	for _, c := range p.outside {
		c.wanted = false
	}
}

// share passes the gradient of a cell to what is the same for all examples.
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

// pass has a portion of the cell pass on what it has for inputs without examples.
func (s *chain) pass(c, p *cell) {
	for i, in := range p.in {
		if of := c.in[i]; !batched(of.node) {
			in.wanted, in.written = of.wanted, of.written
		}
	}
	s.do(p, backward)
	for i, in := range p.in {
		if of := c.in[i]; !batched(of.node) {
			of.written = in.written
		}
	}
}

// portion makes cells for some of the examples.
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

// of is the portion's of an input; one without examples is each cell's own.
func (p *portion) of(s *chain, in *cell) *cell {
	if i := slices.Index(s.cells, in); i >= 0 {
		return p.cells[i]
	}
	if i := slices.Index(s.outside, in); i >= 0 {
		return p.outside[i]
	}
	return &cell{}
}

// see shows a portion, the i-th of n, the examples that it has in this step.
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

// show is a view of some examples of another cell.
func (p *cell) show(of *cell, from, to int) {
	p.node, p.wide, p.shape = of.node, of.wide, append(p.shape[:0], of.shape...)
	p.shape[0] = to - from
	p.value, p.grad = someOf(of.value, of, from, to), someOf(of.grad, of, from, to)
	p.ids, p.index = someOf(of.ids, of, from, to), someOf(of.index, of, from, to)
}

// someOf are a cell's numbers of some examples.
func someOf[T any](all []T, of *cell, from, to int) []T {
	per := len(all) / of.rows()
	return all[from*per : to*per]
}

// each calls f for all portions of a chain, and of its cells alone.
func (s *chain) each(f func(p *portion)) {
	for _, p := range s.portions {
		f(p)
	}
	for _, one := range s.alone {
		one.each(f)
	}
}

// letGo has portions forget what they were shown, such as a caller's feeds.
func (p *portion) letGo() {
	for _, c := range p.outside {
		c.value, c.ids = nil, nil
	}
}
