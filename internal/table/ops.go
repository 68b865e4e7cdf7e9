package table

import "unsafe"

// prepare sets up the working memory for a call's rows.
func (c *call) prepare(rows []float32, n Clicks, step int64, clock uint32) {
	c.rows, c.clicks, c.step, c.clock, c.res, c.err = rows, n, step, clock, Result{}, nil
	c.state.Step, c.state.Row = step, true
}

// letGo drops what belongs to the caller.
func (c *call) letGo() {
	c.rows, c.clicks, c.given, c.played = nil, Clicks{}, [blockLen]*float32{}, nil
}

// row returns the caller's row for an item.
func (c *call) row(it item, dim int) []float32 { return c.rows[int(it.at)*dim:][:dim] }

// prefetch prefetches the caller's rows of items, which lie scattered in a large call.
func (c *call) prefetch(items []item, dim int) {
	if len(c.rows) < manyFloats {
		return
	}
	for i, it := range items {
		c.given[i] = &c.rows[int(it.at)*dim]
	}
	prefetchFloats(&c.given, len(items), dim)
}

// prefetchFloats prefetches n pieces of dim floats.
func prefetchFloats(at *[blockLen]*float32, n, dim int) {
	prefetchRows((**header)(unsafe.Pointer(at)), n, 4*dim-1)
}

// manyFloats is more than stays in a core's cache during a call.
const manyFloats = 1 << 16

// marks are the shows and clicks in a push of an item: one show unless given.
func (c *call) marks(it item) marks {
	m := marks{show: 1}
	if c.clicks.Show != nil {
		m.show = c.clicks.Show[it.at]
	}
	if c.clicks.Click != nil {
		m.click = c.clicks.Click[it.at]
	}
	return m
}

// pushes is the number of pushes that an item was folded of.
func (c *call) pushes(it item) int32 {
	if c.clicks.Pushes == nil {
		return 1
	}
	return c.clicks.Pushes[it.at]
}

func (t *Sparse) pullBlock(s *shard, c *call, b *block) {
	s.image.keep(&t.kind, b)
	for i, it := range b.items {
		h := b.rows[i]
		if h == nil {
			if t.byPush && t.let(s, it) {
				t.unborn(c, it)
				continue
			}
			if h = t.meet(s, c, it); h == nil {
				t.missing(c.row(it, t.dim), it.id)
				continue
			}
		}
		if !t.byPush {
			h.see(c.clock)
		}
		if t.sweeps {
			t.replay(c, h, c.step)
		}
		copy(c.row(it, t.dim), t.weights(h))
	}
}

// ByPush makes only pushes create rows and record the time, not reads: of several copies of a table, which all get
// every push, each has other readers; a read may be a prefetch, and a gradient may be skipped. A frozen table, to which
// nothing is pushed, is not affected. It is called before others use the table.
func (t *Sparse) ByPush() { t.byPush = t.rule != nil }

// let reports whether a push would create an item's row.
func (e *entry) let(s *shard, it item) bool {
	return !e.counts && (!e.draws || e.param.Drawn(it.id)) && !s.bound.full()
}

// unborn reads the initial values of a row that does not exist.
func (e *entry) unborn(c *call, it item) {
	w := c.row(it, e.dim)
	e.param.InitRow(w, it.id)
	if e.sweeps {
		slots := make([]float32, e.state)
		e.initSlots(slots)
		e.miss(c, w, slots, 0, c.step)
	}
}

func (t *Sparse) peekBlock(s *shard, c *call, b *block) {
	if t.sweeps {
		s.image.keep(&t.kind, b)
	}
	for i, it := range b.items {
		h, w := b.rows[i], c.row(it, t.dim)
		if h == nil {
			t.missing(w, it.id)
			continue
		}
		if t.sweeps {
			t.replay(c, h, c.step)
		}
		copy(w, t.weights(h))
	}
}

func (t *Sparse) pushBlock(s *shard, c *call, b *block) {
	s.image.keep(&t.kind, b)
	for i, it := range b.items {
		h := b.rows[i]
		if h == nil {
			if h = t.enter(s, c, it); h == nil {
				t.refused(c, it)
				continue
			}
			b.rows[i] = h
		}
		h.touch(c.clock)
		if t.sweeps {
			t.replay(c, h, t.steps.before(c.step))
		}
		if t.marked {
			c.state.Show = c.marks(it).show
		}
		t.rule.Update(t.weights(h), c.row(it, t.dim), t.slots(h), &c.state)
		t.stepped(h, c.step)
		h.updates++
		if h.updates%normEvery == 1 {
			c.grown = s.norms[0].see(h.id, t.weights(h)) || c.grown
			s.norms[1].see(h.id, c.row(it, t.dim))
		} else if h.updates%hotEvery == 0 && h.updates > s.hot.floor {
			s.hot.update(h.id, h.updates)
		}
		if t.marked {
			t.counted(h, c.marks(it))
			c.stops = c.stops || t.marks(h).stop()
		}
		c.res.Applied++
	}
}

func (t *Sparse) setBlock(s *shard, c *call, b *block) {
	for _, it := range b.items {
		h := s.given(&t.kind, it)
		if h == nil {
			c.err = t.full(it.id)
			continue
		}
		h.touch(c.clock)
		copy(t.weights(h), c.row(it, t.dim))
		t.initState(h)
		h.step = max(c.step, 0)
	}
}

// see records the time. It writes only a new time: most rows of a pull stay clean in the cache.
func (h *header) see(clock uint32) {
	if h.seen&^flags != clock {
		h.seen = h.seen&(newer|served) | clock | changed
	}
}

// touch records the time of a change.
func (h *header) touch(clock uint32) {
	if now := h.seen&served | clock | changed | newer; h.seen != now {
		h.seen = now
	}
}
