package epoch

import (
	"fmt"
	"hash/maphash"
)

// explorer goes through all worlds that a scenario can come to.
type explorer struct {
	seen   map[[2]uint64]struct{}
	seeds  [2]maphash.Seed
	buf    []byte
	path   []func() string
	free   []*world // that nobody looks at any more
	rests  int
	failed string // the first promise that is broken, and how it comes to that
}

func newExplorer() *explorer {
	return &explorer{seen: map[[2]uint64]struct{}{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// visit goes on from a world, unless it was seen.
func (e *explorer) visit(w *world, name func() string) {
	if e.failed != "" {
		return
	}
	e.buf = w.key(e.buf[:0])
	id := [2]uint64{maphash.Bytes(e.seeds[0], e.buf), maphash.Bytes(e.seeds[1], e.buf)}
	if _, has := e.seen[id]; has && w.err == nil {
		return
	}
	e.seen[id] = struct{}{}
	e.path = append(e.path, name)
	if w.err == nil && len(e.path) > mostMoves {
		w.err = fmt.Errorf("no rest after %d moves", mostMoves)
	}
	if w.err != nil {
		e.fail(w.err)
	}
	e.next(w)
	e.path = e.path[:len(e.path)-1]
}

// mostMoves is more than any job makes that comes to rest.
const mostMoves = 400

func (e *explorer) fail(err error) {
	if e.failed == "" {
		e.failed = err.Error() + ", by"
		for _, name := range e.path {
			e.failed += "\n\t" + name()
		}
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

// next goes on from a world in every way. A message comes as soon as it can: a later one is that of a member which takes
// longer.
func (e *explorer) next(w *world) {
	n := 0
	try := func(do func(c *world) bool, name string, args ...any) {
		c := e.clone(w)
		if e.failed == "" && do(c) {
			n++
			e.visit(c, func() string { return fmt.Sprintf(name, args...) })
		}
		e.free = append(e.free, c)
	}
	for v := range w.members {
		if w.maySay(v) {
			try(func(c *world) bool { return c.says(v, -1) }, "worker %d says %s", v, (*words)(&w.members[v].m.at))
		}
	}
	if n == 0 {
		e.moves(w, try)
	}
	if n == 0 {
		e.rests++
		if err := w.unfinished(); err != nil {
			e.fail(err)
		}
		return
	}
	e.faults(w, try)
}

// trial goes on from a world with what may happen next.
type trial = func(do func(c *world) bool, name string, args ...any)

// words is what a member says, and order what it is told, put into words only where somebody reads them.
type (
	words At
	order Told
)

func (w *words) String() string { return said((*At)(w)) }
func (o *order) String() string { return ordered((*Told)(o)) }

// moves goes on from a world in which every message has come.
func (e *explorer) moves(w *world, try trial) {
	for v := range w.members {
		k := &w.members[v]
		switch m := k.m; {
		case k.over:
			if !k.gone && w.leader != nil {
				try(func(c *world) bool { return c.leaves(v) }, "worker %d leaves", v)
			}
		case m == nil && !k.never && (!w.job.InStep || !k.lost):
			try(func(c *world) bool { c.start(v); return true }, "worker %d returns", v)
		case m == nil:
		case m.told != nil && m.told.Do == Rest:
			try(func(c *world) bool { return c.rest(v) }, "worker %d trains the rest of %d", v, m.told.Lost[0].Worker)
		case m.told != nil && m.told.Do == Choose:
			try(func(c *world) bool { return c.chooses(v) }, "worker %d chooses epoch %d", v, m.told.Epoch)
			try(func(c *world) bool { c.member(v).m.Chose(nil, false); return true }, "worker %d finds no epoch yet", v)
		case w.mayStep(v):
			try(func(c *world) bool { c.step(v); return true }, "worker %d trains", v)
		case w.mayHear(v):
			try(func(c *world) bool { return c.told(v) }, "worker %d is told %s", v, (*order)(w.leader.seats[v].told))
		}
		player := int(k.player) - 1
		if w.leader != nil && !k.over && (k.m == nil && !k.lost || player >= 0 && w.members[player].m == nil) {
			try(func(c *world) bool { return c.declare(v) }, "worker %d is lost", v)
		}
	}
	if w.job.InStep {
		try(func(c *world) bool { return c.round() }, "all train")
	}
	if w.leader == nil {
		try(func(c *world) bool { return c.returns() }, "the leader returns")
	} else if w.leader.waits {
		try(func(c *world) bool { c.lead().Tired(); c.commit(-1); return true }, "all are tired")
	}
	for i := range w.late {
		if w.leader != nil {
			try(func(c *world) bool { return c.again(i) }, "again worker %d says %s", w.late[i].Worker, (*words)(&w.late[i]))
		}
	}
	for i := range w.answers {
		try(func(c *world) bool { return c.toldAgain(i) }, "again worker %d is told %s", w.to[i].Worker, (*order)(&w.answers[i]))
	}
}

// faults goes on from a world with something wrong.
func (e *explorer) faults(w *world, try trial) {
	may := func(who int) bool { return w.left[budgetEnds] > 0 && (w.only == 0 || w.only == who+1) }
	bad := func(do func(c *world) bool, name string, args ...any) {
		try(func(c *world) bool { c.left[budgetEnds]--; c.faulty = true; return do(c) }, name, args...)
	}
	for v := range w.members {
		k := &w.members[v]
		if k.m == nil || k.over {
			continue
		}
		if may(v) {
			if !w.job.InStep {
				bad(func(c *world) bool { return c.kill(v, false) }, "worker %d ends", v)
			}
			bad(func(c *world) bool { return c.kill(v, true) }, "worker %d ends for ever", v)
		}
		if w.maySay(v) && may(simMembers) {
			probe := w.clone()
			probe.lead().Say(k.m.at)
			for most := range len(probe.leader.note) {
				bad(func(c *world) bool { return c.says(v, most) }, "worker %d says %s, and the leader ends after %d records", v,
					(*words)(&k.m.at), most)
			}
		}
		if w.left[budgetTwice] > 0 && w.maySay(v) {
			try(func(c *world) bool { c.left[budgetTwice]--; c.late = append(c.late, k.m.at); return c.says(v, -1) },
				"worker %d says, and will again, %s", v, (*words)(&k.m.at))
		}
		if w.left[budgetTwice] > 0 && w.mayHear(v) {
			t := w.leader.seats[v].told
			try(func(c *world) bool {
				c.left[budgetTwice]--
				c.answers, c.to = append(c.answers, *t), append(c.to, k.m.at)
				return c.told(v)
			}, "worker %d is told, and will be again, %s", v, (*order)(t))
		}
		if w.left[budgetStops] > 0 && k.m.at.Stop == "" && k.m.told != nil {
			try(func(c *world) bool { return c.wants(v) }, "worker %d wants to stop", v)
		}
	}
	if w.leader != nil && may(simMembers) {
		bad(func(c *world) bool { c.leader = nil; return true }, "the leader ends")
	}
	if w.left[budgetBacks] > 0 && !w.over {
		try(func(c *world) bool { c.left[budgetBacks]--; c.faulty = true; return c.back() }, "all go back")
	}
}
