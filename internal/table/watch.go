package table

import (
	"math/bits"
	"slices"
)

// Watch records which rows of a table are pushed, a bit for each, until they are taken. A table may have several.
//
// A server of mode geo has one for each worker: it answers what others have changed since the worker asked. A worker's
// own push goes through its Watch, which does not record it. Bits are by a row's number in its shard's arena, so that
// recording is one store beside the row's update; a dropped row loses its bit, since its number will be another id's.
type Watch struct {
	table *Sparse
	rows  []rowBits // by shard, each guarded by the shard's lock
	push  blockFunc // its pushBlock
}

// Watch begins to record which rows are pushed; with all, existing rows count as pushed. The table's rows must be
// Numbered. [Watch.Close] ends it.
func (t *Sparse) Watch(all bool) (*Watch, error) {
	if !t.numbered {
		return nil, t.notNumbered()
	}
	w := &Watch{table: t, rows: make([]rowBits, len(t.shards))}
	w.push = w.pushBlock
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		if all {
			w.rows[i].fill(&s.arena)
		}
		s.watches = append(s.watches, watching{w, &w.rows[i]})
		s.Unlock()
	}
	return w, nil
}

// Push is the table's Push, which this watch does not record except for new rows, which other workers may have had
// before.
func (w *Watch) Push(ids []uint64, g []float32, n Clicks, step int64) (Result, error) {
	return w.table.pushClicks(ids, g, n, step, w.push)
}

// Take appends the ids of the rows that were pushed since they were last taken to dst, each once, in no particular
// order.
func (w *Watch) Take(dst []uint64) []uint64 {
	for i := range w.rows {
		dst = w.takeShard(&w.table.shards[i], &w.rows[i], dst)
	}
	return dst
}

func (w *Watch) takeShard(s *shard, rows *rowBits, dst []uint64) []uint64 {
	s.Lock()
	defer s.Unlock()
	for i, word := range rows.words {
		rows.words[i] = 0
		for ; word != 0; word &= word - 1 {
			dst = append(dst, s.arena.at(uint32(64*i+bits.TrailingZeros64(word))).id)
		}
	}
	return dst
}

// All marks every row as pushed.
func (w *Watch) All() {
	for i := range w.table.shards {
		s := &w.table.shards[i]
		s.Lock()
		w.rows[i].fill(&s.arena)
		s.Unlock()
	}
}

// Close ends the watch. It may be called twice.
func (w *Watch) Close() {
	for i := range w.table.shards {
		s := &w.table.shards[i]
		s.Lock()
		s.watches = slices.DeleteFunc(s.watches, func(x watching) bool { return x.watch == w })
		s.Unlock()
	}
}

// watching is a watch in a shard, with the bits of the shard's rows.
type watching struct {
	watch *Watch
	rows  *rowBits
}

// pushBlock pushes a block, which all watches but w record; w may be nil.
func (w *Watch) pushBlock(t *Sparse, s *shard, c *call, b *block) {
	missing := b.missing()
	s.old.keep(&t.kind, s, b)
	t.pushBlock(s, c, b)
	for born := missing; born != 0; born &= born - 1 {
		if h := b.rows[bits.TrailingZeros32(born)]; h != nil {
			s.old.keepBorn(&t.kind, s, h)
		}
	}
	for _, x := range s.watches {
		for i, h := range b.rows[:len(b.items)] {
			if h != nil && (x.watch != w || missing>>i&1 != 0) {
				x.rows.set(*t.number(h))
			}
		}
	}
}

// pushForAll pushes a block, which every watch records.
var pushForAll blockFunc = (*Watch)(nil).pushBlock

// missing has a bit for every missing row of the block.
func (b *block) missing() (rows uint32) {
	for i, h := range b.rows[:len(b.items)] {
		if h == nil {
			rows |= 1 << i
		}
	}
	return rows
}
