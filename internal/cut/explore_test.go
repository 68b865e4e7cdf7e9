package cut

import (
	"fmt"
	"hash/maphash"
	"slices"
)

// explorer goes through all worlds that a scenario can come to.
type explorer struct {
	seen   map[id]struct{}
	seeds  [2]maphash.Seed
	buf    []byte
	path   []func() string
	free   []*world // that nobody looks at any more
	rests  int      // worlds at rest
	failed string   // the first promise that is broken, and how it comes to that
}

// mostMoves is more than any job makes that comes to rest.
const mostMoves = 1000

func newExplorer() *explorer {
	return &explorer{seen: map[id]struct{}{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// id is what tells worlds apart.
type id [2]uint64

func (e *explorer) id(w *world) id {
	e.buf = w.key(e.buf[:0])
	return id{maphash.Bytes(e.seeds[0], e.buf), maphash.Bytes(e.seeds[1], e.buf)}
}

// visit goes on from a world, unless it was seen. It says whether this is another than the one it came from.
func (e *explorer) visit(w *world, from id, name func() string) bool {
	if e.failed != "" {
		return true
	}
	if len(e.path) > mostMoves {
		e.fail(fmt.Errorf("no rest after %d moves", mostMoves))
		return true
	}
	k := e.id(w)
	if _, has := e.seen[k]; has {
		return k != from
	}
	e.seen[k] = struct{}{}
	e.path = append(e.path, name)
	err := w.wrong()
	if err == nil && len(e.seen)%8 == 0 {
		err = w.checkClosed()
	}
	if err != nil {
		e.fail(err)
	}
	e.next(w, k)
	e.path = e.path[:len(e.path)-1]
	return true
}

func (e *explorer) fail(err error) {
	if e.failed != "" {
		return
	}
	e.failed = err.Error() + ", by"
	for _, name := range e.path {
		e.failed += "\n\t" + name()
	}
}

// clone is a world to be changed, in the room of one that is free.
func (e *explorer) clone(w *world) *world {
	n := len(e.free) - 1
	if n < 0 {
		return w.clone()
	}
	c := e.free[n]
	e.free = e.free[:n]
	return w.into(c)
}

// next goes on from a world in every way.
func (e *explorer) next(w *world, at id) {
	if w.back || e.failed != "" {
		return
	}
	n := 0
	try := func(do func(c *world) bool, name string, args ...any) {
		c := e.clone(w)
		defer func() { e.free = append(e.free, c) }()
		if !do(c) {
			return
		}
		c.settle()
		if w.rested > 0 { // it is not at rest any more, unless nothing has changed
			if e.id(c) == at {
				return
			}
			c.rested = 0
		}
		if e.visit(c, at, func() string { return fmt.Sprintf(name, args...) }) {
			n++
		}
	}
	for v := range w.workers {
		k := &w.workers[v]
		if k.told == nil && k.ask.Task != (Task{}) && k.call != over && w.leader != nil {
			try(func(c *world) bool { return c.question(v) }, "worker %d asks", v)
		}
		if k.told != nil {
			try(func(c *world) bool { return c.hears(v) }, "worker %d is told %+v", v, k.told)
		}
		for s := range w.servers {
			if w.mayPush(v, s) {
				try(func(c *world) bool { c.servers[s].last[v]++; return true }, "worker %d's step comes to server %d", v, s)
			}
		}
		if k.down {
			try(func(c *world) bool { return v == 0 && c.rejoin() }, "worker 0 joins anew")
		}
	}
	for s := range w.servers {
		srv := &w.servers[s]
		if srv.f != nil && (srv.f.busy.Work != "" || srv.f.number != 0 && srv.f.state == settling) {
			try(func(c *world) bool { return c.perform(s, false) }, "server %d does its work", s)
		}
		if w.declaring >= 0 {
			try(func(c *world) bool { return c.takeOut(s) }, "server %d takes the dead worker out", s)
		}
		if srv.down {
			try(func(c *world) bool { return c.restart(s) }, "server %d returns", s)
			try(func(c *world) bool { return c.unreachable(s) }, "server %d is not reached", s)
		}
	}
	for i := range w.orders {
		if o := &w.orders[i]; !w.servers[o.to].down && !w.waits(i) {
			try(func(c *world) bool { return c.order(i, false, -1) }, "server %d is told %s %d", o.to, o.o.Work, o.o.Number)
		}
	}
	for i := range w.answers {
		a := &w.answers[i]
		try(func(c *world) bool { return c.answered(i) }, "server %d answers %s %d (%+v)", a.to, a.a.Work, a.a.Number, a.a)
	}
	for i := range w.late {
		try(func(c *world) bool { return c.lateAsk(i) }, "%s comes late", w.late[i].ID)
	}
	for i := range w.reports {
		try(func(c *world) bool { return c.reported(i) }, "a report comes to server %d", w.reports[i].to)
	}
	if w.seal != nil {
		try(func(c *world) bool { return c.commit(nil) }, "server 0 commits")
	}
	if w.leader != nil {
		try(func(c *world) bool { return c.declare() }, "server 0 declares a worker dead")
	}
	if n == 0 {
		e.rest(w, at)
	}
	e.faults(w, try)
}

// faults goes on from a world with something wrong.
func (e *explorer) faults(w *world, try func(do func(c *world) bool, name string, args ...any)) {
	if w.left[budgetEnds] > 0 {
		e.ends(w, func(do func(c *world) bool, name string, args ...any) {
			try(func(c *world) bool {
				c.left[budgetEnds]--
				c.faulty = true
				return do(c)
			}, name, args...)
		})
	}
	if w.left[budgetTwice] > 0 {
		for i := range w.orders {
			if o := &w.orders[i]; w.may(int(o.to)) {
				try(func(c *world) bool { c.left[budgetTwice]--; return c.order(i, true, -1) },
					"server %d is told %s %d, and will be again", o.to, o.o.Work, o.o.Number)
			}
		}
		for v := 0; v < simWorkers && w.may(0); v++ {
			try(func(c *world) bool { return c.asksTwice(v) }, "worker %d asks, and what it asks will come again", v)
		}
	}
	if w.left[budgetReports] > 0 && w.leader != nil {
		try(func(c *world) bool { c.left[budgetReports]--; c.report(); return true }, "server 0 reports")
	}
}

// ends goes on from a world with the end of a role, or of something that it does.
func (e *explorer) ends(w *world, bad func(do func(c *world) bool, name string, args ...any)) {
	for s := range w.servers {
		srv := &w.servers[s]
		if srv.down || !w.may(s) {
			continue
		}
		bad(func(c *world) bool { return c.kill(s, false) }, "server %d ends", s)
		if s > 0 && w.slow {
			bad(func(c *world) bool { return c.kill(s, true) }, "server %d ends, and what it has sent is lost", s)
		}
		if srv.f.busy.Work != "" && w.only == 0 {
			bad(func(c *world) bool { return c.perform(s, true) }, "server %d's work fails", s)
		}
		if w.only == 0 {
			bad(func(c *world) bool { return c.unreachable(s) }, "server %d is cut off", s)
		}
	}
	for i := range w.orders {
		o := &w.orders[i]
		if w.left[budgetTwice] > 0 && w.leader != nil && w.may(0) {
			bad(func(c *world) bool { return c.killBehind(i) },
				"server 0 ends, and %s %d comes later to server %d", o.o.Work, o.o.Number, o.to)
		}
		if w.may(int(o.to)) {
			bad(func(c *world) bool { return c.orderLast(i) }, "server %d is told %s %d, and ends", o.to, o.o.Work, o.o.Number)
		}
	}
	for v := range w.workers {
		if !w.workers[v].down && !w.workers[v].left && w.only == 0 {
			bad(func(c *world) bool { return c.killWorker(v) }, "worker %d ends", v)
			bad(func(c *world) bool { return c.givesUp(v) }, "worker %d gives its call up", v)
			bad(func(c *world) bool { return c.leaves(v) }, "worker %d leaves", v)
		}
	}
	if w.seal != nil && w.only == 0 {
		bad(func(c *world) bool { return c.commit(errFault) }, "server 0 can't commit")
	}
	if w.leader != nil && w.may(0) {
		e.halves(w, bad)
	}
}

// halves has server 0 end in the middle of what it is to do: after so many records and orders.
func (e *explorer) halves(w *world, bad func(do func(c *world) bool, name string, args ...any)) {
	half := func(what func(c *world, ends int), name string, args ...any) {
		probe := w.clone()
		probe.did = 0
		what(probe, -1)
		for ends := range probe.did {
			bad(func(c *world) bool { what(c, ends); return c.kill(0, false) },
				name+", and server 0 ends after %d of what it does", append(slices.Clone(args), ends)...)
		}
	}
	for i := range w.orders {
		if o := &w.orders[i]; !w.slow && !w.servers[o.to].down && o.life == w.life {
			half(func(c *world, ends int) { c.order(i, false, ends) }, "server %d is told %s %d", o.to, o.o.Work, o.o.Number)
		}
	}
	for i := range w.answers {
		a := &w.answers[i]
		half(func(c *world, ends int) {
			c.answers = slices.Delete(c.answers, i, i+1)
			c.lead().Answered(int(a.to), a.a)
			c.run(ends)
		}, "server %d answers %s %d", a.to, a.a.Work, a.a.Number)
	}
	for v := range w.workers {
		if k := &w.workers[v]; k.call == asks && k.told == nil && !k.down {
			half(func(c *world, ends int) {
				ask := c.workers[v].ask
				c.lead().Ask(&ask)
				c.run(ends)
			}, "worker %d asks", v)
		}
	}
	if w.seal != nil {
		half(func(c *world, ends int) {
			n := c.seal.Number
			c.seals(n)
			c.lead().Sealed(n, nil)
			c.run(ends)
		}, "server 0 commits")
	}
}

// rest is a world in which nothing happens by itself any more but signs of life of server 0.
func (e *explorer) rest(w *world, at id) {
	e.rests++
	if w.leader != nil && w.rested < 3 && !w.back {
		c := w.clone()
		c.rested = w.rested + 1
		last, under := c.leader.Report()
		for s := range c.servers {
			if !c.servers[s].down {
				c.follower(s).Report(last, under)
			}
		}
		e.visit(c, at, func() string { return "server 0 reports at rest" })
		return
	}
	if err := w.unfinished(); err != nil {
		e.fail(err)
	}
}

// run goes through a scenario, and says how many worlds it comes to.
func (e *explorer) run(s *scenario) int {
	e.visit(newWorld(s), id{}, func() string { return s.name })
	return len(e.seen)
}
