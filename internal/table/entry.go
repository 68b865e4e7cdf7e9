package table

import "github.com/gofleet/gofleet/optimizer"

// counts says whether ids wait until pushes have counted enough.
func counts(e optimizer.Entry) bool { return e.CountFilter > 1 || marked(e) }

// marked says whether rows count shows and clicks.
func marked(e optimizer.Entry) bool { return e.Counts() }

// meet returns the row of an item that is read for training; nil if it has none and a read doesn't let it in.
func (t *Sparse) meet(s *shard, c *call, it item) *header {
	if t.counts {
		return nil
	}
	return t.enter(s, c, it)
}

// enter returns the row of an item that is pushed and had none when the call began; nil if it has to wait.
func (t *Sparse) enter(s *shard, c *call, it item) *header {
	if _, h := s.index.find(&s.arena, it.hash, it.id); h != nil {
		return h // given twice in this call
	}
	if c.played != nil {
		return t.enterAgain(s, c, it)
	}
	if t.counts {
		return t.count(s, c, it)
	}
	if t.draws && !t.param.Drawn(it.id) {
		c.res.Waiting++
		return nil
	}
	return t.create(s, c, it)
}

// count adds a push to what is known of an id, and returns its row when that is enough.
func (t *Sparse) count(s *shard, c *call, it item) *header {
	if t.lets(s.waiting.get(it.id).pushed(c, it, c.pushes(it))) {
		if h := t.create(s, c, it); h != nil {
			t.admitted(s, it, h)
			return h
		}
	} else {
		c.res.Waiting++
	}
	t.waits(s, c, it, c.pushes(it))
	return nil
}

// waits notes a push, folded of so many, of an id that goes on waiting.
func (t *Sparse) waits(s *shard, c *call, it item, pushes int32) {
	s.waiting.put(it.id, s.waiting.get(it.id).pushed(c, it, pushes), s.mayWait())
}

// pushed is what is known of an id after one more push, which was folded of so many.
func (w waiter) pushed(c *call, it item, pushes int32) waiter {
	w.pushes, w.seen = w.pushes+uint32(pushes), c.clock|changed
	w.add(c.marks(it))
	return w
}

// admitted gives an id's new row what was known of it before the push that made it, which is counted with its update.
func (t *Sparse) admitted(s *shard, it item, h *header) {
	if t.marked {
		t.counted(h, s.waiting.get(it.id).marks)
	}
	s.waiting.forget(it.id)
}

// counted adds shows and clicks to a row's.
func (t *Sparse) counted(h *header, m marks) {
	t.marks(h).add(m)
	*t.delta(h) += float32(t.param.Entry.ShowClick.Score(m.show, m.click))
}

// lets says whether what is known of an id is enough for a row.
func (t *Sparse) lets(w waiter) bool {
	if e := &t.param.Entry; !t.marked {
		return int(w.pushes) >= e.CountFilter
	}
	return t.param.Entry.ShowClick.Score(w.show, w.click) >= t.param.Entry.ShowClick.Threshold
}

// create makes the row of an item if there is room.
func (t *Sparse) create(s *shard, c *call, it item) *header {
	if !s.room(it.hash) {
		c.res.Full++
		return nil
	}
	c.res.Born++
	h := s.born(t, it)
	c.nearly = c.nearly || s.nearly()
	return h
}
