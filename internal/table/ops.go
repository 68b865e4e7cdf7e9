package table

import "github.com/gofleet/gofleet/optimizer"

// begin readies the working memory for a call's rows.
func (c *call) begin(rows []float32, step int64, clock uint32) {
	c.rows, c.step, c.clock, c.res = rows, step, clock, Result{}
	c.state.Step, c.state.Row = step, true
}

// row is the caller's row for an item.
func (c *call) row(it item, dim int) []float32 { return c.rows[int(it.at)*dim:][:dim] }

func (t *Sparse) pullBlock(s *shard, c *call, b *block) {
	for i, it := range b.items {
		h := t.touch(s, c, b.rows[i], it)
		if t.sweeps {
			t.replay(c, h, c.step)
		}
		copy(c.row(it, t.dim), t.weights(h))
	}
}

func (t *Sparse) peekBlock(_ *shard, c *call, b *block) {
	for i, it := range b.items {
		h, w := b.rows[i], c.row(it, t.dim)
		switch {
		case h != nil:
			if t.sweeps {
				t.replay(c, h, c.step)
			}
			copy(w, t.weights(h))
		case t.param.Height() > 0:
			t.param.InitRow(w, it.id)
		default:
			clear(w)
		}
	}
}

func (t *Sparse) pushBlock(s *shard, c *call, b *block) {
	for i, it := range b.items {
		h := t.touch(s, c, b.rows[i], it)
		if t.sweeps {
			t.replay(c, h, c.step-1)
		}
		t.rule.Update(t.weights(h), c.row(it, t.dim), t.slots(h), &c.state)
		h.step = max(h.step, c.step)
		h.updates++
	}
	c.res.Applied += len(b.items)
}

func (t *Sparse) setBlock(s *shard, c *call, b *block) {
	for i, it := range b.items {
		h := t.touch(s, c, b.rows[i], it)
		copy(t.weights(h), c.row(it, t.dim))
		t.initState(h)
		h.step = c.step
	}
}

// touch is the row of an item, born when h is nil, seen now.
func (t *Sparse) touch(s *shard, c *call, h *header, it item) *header {
	if h == nil {
		var fresh bool
		if h, fresh = s.born(t, it); fresh {
			c.res.Born++
		}
	}
	if h.seen != c.clock {
		h.seen = c.clock
	}
	return h
}

func (t *Sparse) initState(h *header) {
	if t.state > 0 {
		optimizer.InitState(t.rule, t.slots(h))
	}
}

// replay gives a row the steps it missed, each an update with a zero gradient.
func (t *Sparse) replay(c *call, h *header, upTo int64) {
	w, slots := t.weights(h), t.slots(h)
	for step := h.step + 1; step <= upTo; step++ {
		if t.rester != nil && t.rester.Rests(w, slots) {
			break
		}
		s := &c.past[step&63]
		s.Step, s.Row = step, true
		t.rule.Update(w, c.zeros, slots, s)
	}
	h.step = max(h.step, upTo)
}
