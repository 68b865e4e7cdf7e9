package table

import (
	"iter"
	"slices"
)

// Row is one row with everything that the table keeps of it.
type Row struct {
	ID      uint64
	W       []float32 // dim weights
	State   []float32 // the rule's StateLen(dim) numbers
	Step    int64     // the last step that was applied
	Seen    uint32    // the table's clock at the last pull or push
	Updates uint32    // how often it was pushed

	// Show and Click are counted when the param's Entry has ShowClick.
	Show, Click float32
	// Delta is the score of shows and clicks since a model for serving was saved with the row.
	Delta float32
	// Served reports that a model for serving has the row, and AsServed that the row has not changed since.
	Served, AsServed bool
}

// IDs returns the ids of all rows, ascending.
func (t *Sparse) IDs() []uint64 {
	var ids []uint64
	for i := range t.shards {
		ids = t.shards[i].appendIDs(ids)
	}
	return sorted(ids)
}

func (s *shard) appendIDs(ids []uint64) []uint64 {
	s.Lock()
	defer s.Unlock()
	ids = slices.Grow(ids, s.arena.live())
	for row := range s.arena.rows {
		if h := s.arena.at(row); h.step != isFree {
			ids = append(ids, h.id)
		}
	}
	return ids
}

// Rows yields every row in ascending order of ids, brought up to step under a rule that sweeps. The table may be used
// meanwhile: each row is read whole, and rows created after the call began are left out. A yielded row's slices are
// valid until the next.
func (t *Sparse) Rows(step int64) iter.Seq[Row] {
	return func(yield func(Row) bool) { t.RowsOf(t.IDs(), step)(yield) }
}

// RowsOf is Rows for given ids, in their order. It reads a batch at a time and holds a shard's lock only for its part
// of a batch, so that a table that is being saved, or sent page by page, serves steps meanwhile; the caller ensures
// that the rows are of one moment (a cut holds pushes). For a missing row, which may have been dropped meanwhile, it
// yields the initial values.
func (t *Sparse) RowsOf(ids []uint64, step int64) iter.Seq[Row] {
	return func(yield func(Row) bool) {
		c := t.newColumns(min(batch, len(ids)))
		for ids := range slices.Chunk(ids, batch) {
			t.read(ids, c, step, (*Sparse).readBlock)
			for i := range ids {
				if !yield(c.row(&t.kind, i)) {
					return
				}
			}
		}
	}
}

// batch is the number of rows that are read at a time.
const batch = 1024

// read copies rows into columns that have room for them.
func (t *Sparse) read(ids []uint64, into *Columns, step int64, do blockFunc) {
	into.resize(&t.kind, len(ids))
	copy(into.IDs, ids)
	c := t.calls.Get().(*call)
	defer t.calls.Put(c)
	c.largest = c.group(ids, len(t.shards), t.seed)
	c.prepare(nil, Clicks{}, step, 0)
	c.out = into
	for i := range t.shards {
		t.runShard(i, c.of(i), c, do)
	}
	c.out = nil
}

func (t *Sparse) readBlock(s *shard, c *call, b *block) {
	if t.sweeps {
		s.image.keep(&t.kind, b)
	}
	for i, it := range b.items {
		t.readOut(c, it, b.rows[i])
	}
}

// readOut copies a row, nil for a missing one, to its place in the columns.
func (k *kind) readOut(c *call, it item, h *header) {
	if h == nil {
		c.out.unborn(k, int(it.at))
		return
	}
	if k.sweeps {
		k.replay(c, h, c.step)
	}
	c.out.set(k, int(it.at), h)
}
