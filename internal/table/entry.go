package table

import "github.com/gofleet/gofleet/optimizer"

// entry decides which ids get a row of a table: the policy of its param's Entry.
type entry struct {
	kind
	counts bool // ids wait until pushes have counted enough
	draws  bool // ids are drawn by lot
	// telling: pushes report which ids got no row, and a shrink which rows it dropped.
	telling bool
}

func newEntry(p *optimizer.Param, rule optimizer.Rule, o Options) entry {
	return entry{kind: newKind(p, rule, o.Numbered), counts: counts(p.Entry), draws: p.Entry.Probability > 0,
		telling: o.Telling}
}

// counts reports whether ids wait until pushes have counted enough.
func counts(e optimizer.Entry) bool { return e.CountFilter > 1 || marked(e) }

// marked reports whether rows count shows and clicks.
func marked(e optimizer.Entry) bool { return e.Counts() }

// meet returns the row of an item that is read for training; nil if it has none and a read doesn't create it.
func (e *entry) meet(s *shard, c *call, it item) *header {
	if e.counts {
		return nil
	}
	return e.enter(s, c, it)
}

// enter returns the row of an item that is pushed and had none when the call began; nil if it has to wait.
func (e *entry) enter(s *shard, c *call, it item) *header {
	if _, h := s.index.find(&s.arena, it.hash, it.id); h != nil {
		return h // the id comes twice in this call
	}
	if c.played != nil {
		return e.enterAgain(s, c, it)
	}
	if e.counts {
		return e.count(s, c, it)
	}
	if e.draws && !e.param.Drawn(it.id) {
		c.res.Waiting++
		return nil
	}
	return e.create(s, c, it)
}

// count adds a push to the counts of an id, and returns its new row if they are enough.
func (e *entry) count(s *shard, c *call, it item) *header {
	if e.lets(s.waiting.get(it.id).pushed(c, it, c.pushes(it))) {
		if h := e.create(s, c, it); h != nil {
			e.admitted(s, it, h)
			return h
		}
	} else {
		c.res.Waiting++
	}
	s.waits(c, it, c.pushes(it))
	return nil
}

// waits records a push, merged from pushes pushes, of an id that continues to wait.
func (s *shard) waits(c *call, it item, pushes int32) {
	s.waiting.put(it.id, s.waiting.get(it.id).pushed(c, it, pushes), s.mayWait())
}

// pushed returns a waiter's counts after one more push, which was merged from pushes pushes.
func (w waiter) pushed(c *call, it item, pushes int32) waiter {
	w.pushes, w.seen = w.pushes+uint32(pushes), c.clock|changed
	w.add(c.marks(it))
	return w
}

// admitted adds the counts of a waiting id to its new row. The push that made the row is counted with its update.
func (e *entry) admitted(s *shard, it item, h *header) {
	if e.marked {
		e.counted(h, s.waiting.get(it.id).marks)
	}
	s.waiting.forget(it.id)
}

// create makes the row of an item if there is room.
func (e *entry) create(s *shard, c *call, it item) *header {
	if !s.takes() {
		c.res.Full++
		return nil
	}
	c.res.Born++
	h := s.born(&e.kind, it)
	c.nearly = c.nearly || s.bound.nearly()
	return h
}
