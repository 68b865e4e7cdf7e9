package table

import "sync"

// shard is one share of a table's rows. Everything in it is guarded by its lock, which a call takes once for all its
// ids of the shard; no call holds two shard locks. An id's shard is a function of its hash, so that two calls contend
// only if they touch the same shard.
//
// index finds a row's number, and arena holds the row. The two agree: every number in the index is of a row in use,
// whose header has the id, and every row in use is in the index once. Everything else that refers to a row by number or
// id (hot, watches, old, waiting) is updated when the row is dropped or created, before the number can be another id's.
type shard struct {
	sync.Mutex
	index   index
	arena   arena
	waiting waiting
	bound   *bound // of the table; nil if there is none
	hot     hot
	norms   [2]norms // of rows, and of gradients
	watches []watching
	old     *oldRows
	image   *shardImage // nil if there is none
	gone    []uint64    // dropped rows that a model for serving has
	dropped []uint64    // rows dropped since changes were last taken
	_       [64]byte    // keeps two shards' locks off one cache line
}

// newShards returns n empty shards, or fewer that share a bound.
func newShards(n int, e *entry) ([]shard, *bound) {
	bound, n := boundOf(e, n)
	shards, most := make([]shard, n), int64(mostRows)
	if bound != nil {
		most = bound.most / int64(n)
	}
	for i := range shards {
		shards[i].index, shards[i].arena, shards[i].bound = newIndex(), newArena(e.stride, most), bound
	}
	return shards, bound
}

// blockLen is the number of rows that are worked on together: enough to hide the memory's latency, and no more than a
// core can have outstanding.
const blockLen = 24

// block is a piece of a shard's group of ids with the rows that were found, nil for missing rows.
//
// Rows of a large table are far from each other, and loading one that is not in a cache takes as long as some hundred
// instructions. So a call works on three blocks at once: it runs the rule over the rows of one, while the rows of the
// next (probe) and the index lines of the one after it (prefetch) are being loaded. probe finds a row by its hash
// alone; verify checks the id in the row when it has been loaded.
type block struct {
	items   []item
	rows    [blockLen]*header
	numbers [blockLen]uint32 // of these rows
}

// warmed is the number of bytes of a row that are prefetched; the CPU's own prefetcher loads the rest of a longer row.
const warmed = 512

// prefetch prefetches the index lines of items that will be probed soon.
func (s *shard) prefetch(items []item) {
	if len(items) > 0 {
		prefetchEntries(&s.index.places[0], s.index.shift, &items[0], len(items))
	}
}

// probe looks up a block's rows by hash and prefetches them.
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

// verify compares the ids of a block's rows, which have been loaded.
func (s *shard) verify(b *block) {
	for i, it := range b.items {
		if h := b.rows[i]; h != nil && h.id != it.id {
			b.numbers[i], b.rows[i] = s.index.find(&s.arena, it.hash, it.id)
		}
	}
}

// born creates the row of an item that has none.
func (s *shard) born(k *kind, it item) *header {
	h := s.bare(k, it)
	k.param.InitRow(k.weights(h), it.id)
	k.initState(h)
	return h
}

// bare creates a row with undefined weights and state.
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

// given returns the row of an item that is set explicitly, and creates it; nil if there is no room.
func (s *shard) given(k *kind, it item) *header { return s.givenBy(k, it, s.born) }

// givenBy is given with a function that creates the row.
func (s *shard) givenBy(k *kind, it item, make func(*kind, item) *header) *header {
	if row, h := s.index.find(&s.arena, it.hash, it.id); h != nil {
		s.image.keepRow(k, row, h)
		return h
	}
	if !s.takes() {
		return nil
	}
	s.waiting.forget(it.id)
	return make(k, it)
}

// drop removes a row from the table.
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
	s.bound.add(-1)
}
