package table

import "sync"

// shard is one share of a table's rows. Everything in it is guarded by its lock, which a call takes once, for all its
// ids of the shard; no call holds two. An id's shard is a function of its hash, so that two calls meet only where they
// touch the same share.
//
// index finds a row's number, arena has the row. The two agree: every number in the index is of a row in use, whose
// header has the id, and every row in use is in the index once. What else knows a row by number or id (hot, watches,
// old, waiting) is told when it is dropped or created, before the number can be another id's.
type shard struct {
	sync.Mutex
	index   index
	arena   arena
	waiting waiting
	quota   quota
	hot     hot
	watches []watching
	old     *oldRows
	image   *shardImage // nil where there is none
	gone    []uint64    // rows that were dropped, and that a model for serving has
	_       [64]byte    // keeps two shards' locks off one cache line
}

// newShards returns n empty shards, or fewer that share the bytes of a budget.
func newShards(n, stride int, budget int64, counts bool) []shard {
	shards := make([]shard, shardsFor(budget, n))
	quota := quotaOf(budget, len(shards), counts)
	for i := range shards {
		shards[i].index, shards[i].arena, shards[i].quota = newIndex(), newArena(stride, quota.rows), quota
	}
	return shards
}

// blockLen is how many rows are worked on together: enough to hide the memory's latency, no more than a core can wait
// for at once.
const blockLen = 24

// block is a piece of a shard's group of ids with the rows that were found, nil for the missing.
//
// Rows of a large table are nowhere near each other, and one that is not in a cache takes a core as long as some
// hundred instructions. So a call works on three blocks at once: it runs the rule over the rows of one, while the rows
// of the next are on their way (probe) and the lines of the index that the one after it needs (prefetch). A row that
// probe found by its hash alone is checked by verify when it has arrived, since only the row knows its id.
type block struct {
	items   []item
	rows    [blockLen]*header
	numbers [blockLen]uint32 // of these rows
}

// warmed is how many bytes of a row are asked for in advance; the CPU sees where a longer row goes on.
const warmed = 512

// prefetch asks for the index lines of items that will be probed soon.
func (s *shard) prefetch(items []item) {
	if len(items) > 0 {
		prefetchEntries(&s.index.places[0], s.index.shift, &items[0], len(items))
	}
}

// probe looks up a block's rows by hash and asks for them.
func (s *shard) probe(b *block, items []item) {
	b.items = items
	for i, it := range items {
		b.rows[i] = nil
		if row := s.index.first(it.hash); row != 0 {
			b.rows[i], b.numbers[i] = s.arena.at(row-1), row-1
		}
	}
	prefetchRows(&b.rows[0], len(items), min(4*s.arena.stride, warmed)-1)
}

// verify compares the ids of a block's rows, which have arrived.
func (s *shard) verify(b *block) {
	for i, it := range b.items {
		if h := b.rows[i]; h != nil && h.id != it.id {
			b.numbers[i], b.rows[i] = s.index.find(&s.arena, it.hash, it.id)
		}
	}
}

// born makes the row of an item that has none.
func (s *shard) born(k *kind, it item) *header {
	h := s.bare(k, it)
	k.param.InitRow(k.weights(h), it.id)
	k.initState(h)
	return h
}

// bare makes a row whose weights and state hold anything.
func (s *shard) bare(k *kind, it item) *header {
	row, h := s.arena.add()
	*h = header{id: it.id, seen: changed | newer}
	if k.marked {
		*k.marks(h), *k.delta(h) = marks{}, 0
	}
	if k.numbered {
		*k.number(h) = row
	}
	s.image.born(row)
	s.index.insert(it.hash, row)
	return h
}

// given is the row of an item that is set explicitly; nil if it has none and there is no room.
func (s *shard) given(k *kind, it item) *header { return s.givenBy(k, it, s.born) }

// givenBy is given with the way to make a row.
func (s *shard) givenBy(k *kind, it item, make func(*kind, item) *header) *header {
	if row, h := s.index.find(&s.arena, it.hash, it.id); h != nil {
		s.image.keepRow(k, row, h)
		return h
	}
	if !s.room(it.hash) {
		return nil
	}
	s.waiting.forget(it.id)
	return make(k, it)
}

// drop takes a row out of the table.
func (s *shard) drop(k *kind, row uint32, h *header) {
	s.image.drop(k, row, h)
	if h.seen&served != 0 {
		s.gone = append(s.gone, h.id)
	}
	s.hot.forget(h.id)
	for _, w := range s.watches {
		w.rows.clear(row)
	}
	s.old.forget(row)
	s.index.remove(k.hash(h.id), row)
	s.arena.drop(row, h)
}
