package nn

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// byExample is an op that computes an example of its value from that example of its inputs, and from inputs that are
// the same for all examples, to whose gradients it adds example by example, in order. So portions of a cell, some of
// its examples each, are cells themselves: cores work on them side by side, and the bits are those of the whole.
type byExample interface{ byExample() }

// byUnit is an op that deals out parts of its work itself, in units, such as places of the last dimension, that are
// computed each by itself.
type byUnit interface {
	units(c *cell, from, to, part int)
}

// The least elements of a cell that several cores work on, and of a portion; and how many places of a row one core
// takes: fewer cost more in calls than another core saves. Tests change them.
var (
	leastDivided = 1 << 16
	leastPortion = 1 << 14
	unitsAtATime = 128
)

// The parts of a step; an op that deals out more has others behind them.
const (
	onward = iota
	backward
)

// cores work on one cell at a time, portion by portion: each takes the next that none has taken.
type cores struct {
	n         int // how many there are for this executor
	cell      *cell
	of        byUnit // whose units are dealt out; nil: the cell's portions are
	part      int
	total, at int // units, and how many are taken at a time

	next    atomic.Int64
	helpers sync.WaitGroup
	help    func() // what a helping goroutine does; kept here so that starting one allocates nothing
}

// ready shares the cores that the process may use among the worker's training threads.
func (w *cores) ready(threads int) {
	w.n = max(1, runtime.GOMAXPROCS(0)/max(1, threads))
	if w.help == nil {
		w.help = func() { w.work(); w.helpers.Done() }
	}
}

// run has all cores work on a cell.
func (w *cores) run(c *cell, of byUnit, part, total, at int) {
	w.cell, w.of, w.part, w.total, w.at = c, of, part, total, at
	w.next.Store(0)
	for range min(w.n, (total+at-1)/at) - 1 {
		w.helpers.Add(1)
		go w.help()
	}
	w.work()
	w.helpers.Wait()
}

func (w *cores) work() {
	for from := w.claim(); from < w.total; from = w.claim() {
		switch c := w.cell; {
		case w.of != nil:
			w.of.units(c, from, min(from+w.at, w.total), w.part)
		case w.part == backward:
			c.node.op.backward(c.portions[from])
		default:
			c.node.op.forward(c.portions[from])
		}
	}
}

func (w *cores) claim() int { return int(w.next.Add(int64(w.at))) - w.at }

// deal computes a part of a step in so many units, by several cores where that pays, which take no fewer than least at
// a time.
func (c *cell) deal(part, total, least int) {
	o, w := c.node.op.(byUnit), c.cores
	if w == nil || w.n < 2 || len(c.value) < leastDivided || total <= least {
		o.units(c, 0, total, part)
		return
	}
	w.run(c, o, part, total, (total/(4*w.n)+least)/least*least)
}

// compute sets the value of a cell, by several cores where that pays.
func (w *cores) compute(c *cell) {
	if c.divided = w.divide(c); c.divided == 0 {
		c.forward()
		return
	}
	for len(c.portions) < c.divided {
		c.portions = append(c.portions, c.portion())
	}
	for i, p := range c.portions[:c.divided] {
		p.see(c, i*c.rows()/c.divided, (i+1)*c.rows()/c.divided)
	}
	w.run(c, nil, onward, c.divided, 1)
}

// divide is how many portions a cell is worth, 0 for one that stays whole.
func (w *cores) divide(c *cell) int {
	_, own := c.node.op.(ownRows)
	if _, is := c.node.op.(byExample); !is || w.n < 2 && !own || !batched(c.node) {
		return 0
	}
	size, most := len(c.value), 4*w.n
	if own { // a user's op may add up as it likes: on every machine it is given the same examples at once
		most = c.rows()
	}
	for _, in := range c.in {
		switch {
		case varies(in.node):
			return 0
		case batched(in.node):
			size = max(size, len(in.value))
		case len(in.grad) == 1: // kernels add up all that is its gradient, in an order of their own
			return 0
		}
	}
	// an example alone may go another way through an op than several
	if n := min(size/leastPortion, most, c.rows()/2); size >= leastDivided && n > 1 {
		return n
	}
	return 0
}

func batched(n *Node) bool { return len(n.shape) > 0 && n.shape[0] == batch }

// goBack passes the gradient of a cell on, by the portions in which its value was computed: first to inputs that have
// examples, side by side, then to what is the same for all, in order.
func (w *cores) goBack(c *cell) {
	if c.divided == 0 {
		c.node.op.backward(c)
		return
	}
	if c.open(true) {
		w.run(c, nil, backward, c.divided, 1)
		c.close(c.portions[0])
	}
	if !c.open(false) {
		return
	}
	for _, p := range c.portions[:c.divided] {
		for i, in := range p.in {
			in.written = c.in[i].written
		}
		c.node.op.backward(p)
		c.close(p)
	}
}

// open has portions pass gradients to inputs that have examples, or to the others, and says whether any wants one.
func (c *cell) open(examples bool) (any bool) {
	for i, in := range c.in {
		open := in.wanted && batched(in.node) == examples
		any = any || open
		for _, p := range c.portions[:c.divided] {
			p.in[i].wanted, p.in[i].written = open, in.written
		}
	}
	return any
}

// close notes which gradients a portion has written.
func (c *cell) close(p *cell) {
	for i, in := range p.in {
		c.in[i].written = in.written
	}
}

// portion is a cell for some examples of c, with memory of its own for what the op keeps.
func (c *cell) portion() *cell {
	p := &cell{node: c.node}
	for i, in := range c.in {
		if before := slices.Index(c.in, in); before < i {
			p.in = append(p.in, p.in[before])
			continue
		}
		p.in = append(p.in, &cell{})
	}
	return p
}

// see has a portion work on the examples of c from one up to another.
func (p *cell) see(c *cell, from, to int) {
	p.train, p.turn, p.first = c.train, c.turn, from
	p.show(c, from, to)
	for i, in := range p.in {
		if of := c.in[i]; batched(of.node) {
			in.show(of, from, to)
		} else {
			*in = *of
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

// someOf are those of a cell's numbers from one up to another.
func someOf[T any](all []T, of *cell, from, to int) []T {
	per := len(all) / of.rows()
	return all[from*per : to*per]
}

// letGo has portions forget what they were shown, such as a caller's feeds.
func (c *cell) letGo() {
	for _, p := range c.portions {
		for _, in := range p.in {
			in.value, in.ids = nil, nil
		}
	}
}
