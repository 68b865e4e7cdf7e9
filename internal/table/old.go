package table

import (
	"math/bits"
	"unsafe"
)

// Old keeps the weights of rows before they were pushed: those at a row's first push since changes were last taken. A
// row that was not pushed since then has no old weights, and is unchanged.
//
// Mode geo trains with it: a worker's table is its copy of the model, a row's old weights are the servers', and the
// difference of the two is what an exchange sends. The first push of a row after a Take copies its weights aside, under
// the shard's lock, before the rule changes them; later pushes cost a bit test. A Take that leaves a part of the change
// (geo sends a share of it) keeps the row's old weights for the next Take.
type Old struct{ table *Sparse }

// oldRows are the old weights of a shard's rows, guarded by its lock.
type oldRows struct {
	pushed rowBits     // since the last take
	left   rowBits     // rows of whose changes the last take has left a part
	chunks [][]float32 // by the row's number, as in the arena; made when needed
}

// KeepOld begins to keep old weights. The table's rows must be Numbered; a table has one Old.
func (t *Sparse) KeepOld() (*Old, error) {
	if !t.numbered {
		return nil, t.notNumbered()
	}
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		s.old = new(oldRows)
		s.Unlock()
	}
	return &Old{t}, nil
}

// Take calls do for every row with old weights: with its id, its weights and the old ones, which do may change, and
// whether it was pushed since the last take. The old weights stay if do returns true, for a part of the change that is
// left. Rows come one at a time, in no particular order; do must not call the table.
func (o *Old) Take(do func(id uint64, w, old []float32, pushed bool) (left bool)) {
	for i := range o.table.shards {
		o.takeShard(&o.table.shards[i], do)
	}
}

func (o *Old) takeShard(s *shard, do func(id uint64, w, old []float32, pushed bool) (left bool)) {
	s.Lock()
	defer s.Unlock()
	for i, pushed := range s.old.pushed.words { // a row that is left was pushed once: the words are as many
		kept := uint64(0)
		for all := pushed | s.old.left.word(i); all != 0; all &= all - 1 {
			bit := all & -all
			row := uint32(64*i + bits.TrailingZeros64(all))
			h := s.arena.at(row)
			if do(h.id, o.table.weights(h), s.old.at(&s.arena, o.table.dim, row), pushed&bit != 0) {
				kept |= bit
			}
		}
		s.old.pushed.words[i] = 0
		s.old.left.put(i, kept)
	}
}

// Receive calls do with the weights of each row, its old ones, and its part of rows, len(ids) rows of dim floats. do
// may change the first two; an unchanged row has nil old weights. A missing row is created first. Rows come one at a
// time, in no particular order; do must not call the table.
func (o *Old) Receive(ids []uint64, rows []float32, do func(w, old, arrived []float32)) error {
	_, err := o.table.run("receive", ids, rows, Clicks{}, 0, func(t *Sparse, s *shard, c *call, b *block) {
		for _, it := range b.items {
			h := s.given(&t.kind, it)
			if h == nil {
				c.err = t.full(it.id)
				continue
			}
			h.see(c.clock)
			do(t.weights(h), s.old.find(&s.arena, t.dim, *t.number(h)), c.row(it, t.dim))
		}
	})
	return err
}

// Renew drops the unchanged rows for which of returns true and that were not touched since a tick of the clock. For
// such a row that has changed it calls do instead, with the weights, the old ones and the initial ones; do may change
// the first two. do must not call the table.
func (o *Old) Renew(since uint32, of func(id uint64) bool, do func(w, old, born []float32)) {
	t, born := o.table, make([]float32, o.table.dim)
	t.shrink(Shrink{}, 0, func(h *header, _ bool) bool {
		if h.seen&^flags >= since || !of(h.id) {
			return false
		}
		s, _ := t.shardOf(h.id)
		old := s.old.find(&s.arena, t.dim, *t.number(h))
		if old != nil {
			t.param.InitRow(born, h.id)
			do(t.weights(h), old, born)
		}
		return old == nil
	})
}

// keep copies the weights of a block's rows that are about to be pushed. It does nothing for a table without Old.
func (o *oldRows) keep(k *kind, s *shard, b *block) {
	if o == nil {
		return
	}
	var from [blockLen]*header
	var to [blockLen]*float32
	n := 0
	for _, h := range b.rows[:len(b.items)] {
		if h == nil {
			continue
		}
		row := *k.number(h)
		if o.pushed.has(row) {
			continue
		}
		o.pushed.set(row)
		if !o.left.has(row) {
			from[n], to[n] = h, &o.at(&s.arena, k.dim, row)[0]
			n++
		}
	}
	prefetchFloats(&to, n, k.dim)
	for i, w := range to[:n] {
		copy(unsafe.Slice(w, k.dim), k.weights(from[i]))
	}
}

// keepBorn keeps the initial weights of a new row that has been pushed since.
func (o *oldRows) keepBorn(k *kind, s *shard, h *header) {
	if o == nil {
		return
	}
	row := *k.number(h)
	k.param.InitRow(o.at(&s.arena, k.dim, row), h.id)
	o.pushed.set(row)
}

// forget removes a row that is dropped.
func (o *oldRows) forget(row uint32) {
	if o != nil {
		o.pushed.clear(row)
		o.left.clear(row)
	}
}

func (o *oldRows) has(row uint32) bool { return o.pushed.has(row) || o.left.has(row) }

// find returns the old weights of a row, nil if it has none.
func (o *oldRows) find(a *arena, dim int, row uint32) []float32 {
	if !o.has(row) {
		return nil
	}
	return o.at(a, dim, row)
}

// at is the place of a row's old weights.
func (o *oldRows) at(a *arena, dim int, row uint32) []float32 {
	chunk := int(row >> a.shift)
	for chunk >= len(o.chunks) {
		o.chunks = append(o.chunks, nil)
	}
	if o.chunks[chunk] == nil {
		o.chunks[chunk] = make([]float32, dim<<a.shift)
	}
	return o.chunks[chunk][int(row&(1<<a.shift-1))*dim:][:dim]
}
