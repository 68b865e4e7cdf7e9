package table

import "sync"

// shard is one share of a table's rows. Everything in it is guarded by its lock.
type shard struct {
	sync.Mutex
	index index
	arena arena
	_     [24]byte // keeps two shards' locks off one cache line
}

// blockLen is how many rows are worked on together: enough to hide the memory's latency, few enough to stay in the cache.
const blockLen = 128

// block is a piece of a shard's group of ids with the rows that were found, nil for the missing.
type block struct {
	items []item
	rows  [blockLen]*header
	sum   uint64 // of what the warming reads saw: it makes them happen
}

// locate finds the rows of a block in passes, so that the memory accesses of a pass don't wait for one another.
func (s *shard) locate(b *block) {
	b.sum += s.index.warm(b.items)
	for i, it := range b.items {
		b.rows[i] = nil
		if row := s.index.first(it.hash); row != 0 {
			b.rows[i] = s.arena.at(row - 1)
		}
	}
	b.sum += s.arena.warm(b.rows[:len(b.items)])
	for i, it := range b.items {
		if h := b.rows[i]; h != nil && h.id != it.id {
			b.rows[i] = s.index.find(&s.arena, it.hash, it.id)
		}
	}
}

// born returns the row of an item, which is made when it is missing. The row of an id that was given twice in one call, or
// born by another since, is found.
func (s *shard) born(t *Sparse, it item) (h *header, fresh bool) {
	if h := s.index.find(&s.arena, it.hash, it.id); h != nil {
		return h, false
	}
	row, h := s.arena.add()
	h.id = it.id
	t.param.InitRow(t.weights(h), it.id)
	t.initState(h)
	s.index.insert(it.hash, row)
	return h, true
}
