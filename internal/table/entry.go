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
	if h := s.index.find(&s.arena, it.hash, it.id); h != nil {
		return h // given twice in this call
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
	before := s.waiting.get(it.id)
	now := before
	now.pushes, now.seen = before.pushes+1, c.clock
	now.add(c.marks(it))
	if t.lets(now) {
		if h := t.create(s, c, it); h != nil {
			s.waiting.forget(it.id)
			if t.marked {
				*t.marks(h) = before.marks // the push itself is counted with its update
			}
			return h
		}
	} else {
		c.res.Waiting++
	}
	s.waiting.put(it.id, now, s.mayWait())
	return nil
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
	return s.born(t, it)
}
