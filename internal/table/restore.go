package table

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Filler fills a table with its param's initial rows, or with what a file has of it: rows, waiting ids, and the time.
// It ignores rows and ids for which Owns returns false; a nil Owns accepts all. Owns is called from several goroutines
// at once.
type Filler struct {
	Table *Sparse
	Owns  func(id uint64) bool
}

func (f Filler) owns(id uint64) bool { return f.Owns == nil || f.Owns(id) }

// Begin gives an empty table its param's initial rows. It fails when ctx ends.
func (f Filler) Begin(ctx context.Context) error {
	t := f.Table
	if t.param.Rows == nil {
		return nil
	}
	return t.param.Rows.EachRow(func(ids []uint64, w []float32) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(w) != len(ids)*t.dim {
			return fmt.Errorf("%w: %q begins with %d ids and %d numbers, want %d for each", ErrShape, t.param.Name,
				len(ids), len(w), t.dim)
		}
		return f.Set(ids, w, 0)
	})
}

// Set is [Sparse.Set] for the ids that Owns accepts.
func (f Filler) Set(ids []uint64, w []float32, step int64) error {
	dim := f.Table.dim
	mine, rows := make([]uint64, 0, len(ids)), make([]float32, 0, len(w))
	for i, id := range ids {
		if f.owns(id) {
			mine, rows = append(mine, id), append(rows, w[i*dim:][:dim]...)
		}
	}
	return f.Table.Set(mine, rows, step)
}

// Clock advances the clock to a time that was read from a file, unless it is later already.
func (f Filler) Clock(time uint32) { f.Table.clock.atLeast(time) }

// restore restores a row. The caller holds the shard's lock.
func (f Filler) restore(s *shard, it item, r *Row) error {
	k := &f.Table.kind
	h := s.givenBy(k, it, s.bare)
	if h == nil && f.Table.evicts() && s.arena.hasRoom() { // the next eviction drops what is too much
		s.bound.add(1)
		s.waiting.forget(it.id)
		h = s.bare(k, it)
	}
	if h == nil {
		return k.full(r.ID)
	}
	copy(k.weights(h), r.W)
	if copy(k.slots(h), r.State) == 0 {
		k.initState(h)
	}
	h.step, h.seen, h.updates = r.Step, r.Seen&^flags|changed|r.flags(), r.Updates
	if k.marked {
		*k.marks(h), *k.delta(h) = marks{r.Show, r.Click}, r.Delta
	}
	s.hot.update(r.ID, r.Updates)
	f.Table.clock.atLeast(r.Seen &^ flags)
	return nil
}

// Rows restores many rows, on all processors. Rows of one shard keep their order, so that the result equals that of one
// row after the other.
func (f Filler) Rows(c *Columns) error {
	t := f.Table
	n := len(c.IDs)
	if n == 0 {
		return nil
	}
	if len(c.Floats) < n*t.dim || len(c.Floats)%n != 0 || len(c.Steps) != n || len(c.Seen) != n ||
		len(c.Updates) != n ||
		c.Show != nil && (len(c.Show) != n || len(c.Click) != n) || c.Delta != nil && len(c.Delta) != n ||
		c.Served != nil && len(c.Served) != n {
		return fmt.Errorf("%w: restore of %d rows of %q: %d floats, and steps, times, updates and counts of %d, %d, "+
			"%d and %d rows",
			ErrShape, n, t.param.Name, len(c.Floats), len(c.Steps), len(c.Seen), len(c.Updates), len(c.Show))
	}
	work := t.calls.Get().(*call)
	defer t.calls.Put(work)
	work.group(c.IDs, len(t.shards), t.seed)
	return eachShard(len(t.shards), func(i int) error { return f.restoreAll(&t.shards[i], work.of(i), c) })
}

// restoreAll restores the rows of items. It prefetches the index lines of the next block meanwhile.
func (f Filler) restoreAll(s *shard, items []item, c *Columns) error {
	k := &f.Table.kind
	s.Lock()
	defer s.Unlock()
	s.prefetch(items[:min(len(items), blockLen)])
	for len(items) > 0 {
		n := min(len(items), blockLen)
		s.prefetch(items[n:min(len(items), n+blockLen)])
		for _, it := range items[:n] {
			if !f.owns(it.id) {
				continue
			}
			r := c.row(k, int(it.at))
			if err := k.restorable(&r); err != nil {
				return err
			}
			if err := f.restore(s, it, &r); err != nil {
				return err
			}
		}
		items = items[n:]
	}
	return nil
}

// Drop removes rows that a file names, if they are there, as changes since the file before it.
func (f Filler) Drop(ids []uint64) {
	for _, id := range ids {
		s, hash := f.Table.shardOf(id)
		s.Lock()
		if row, h := s.index.find(&s.arena, hash, id); h != nil && f.owns(id) {
			h.seen &^= served // what models for serving have of it, the file's Gone says
			s.drop(&f.Table.kind, row, h)
		}
		s.Unlock()
	}
}

// Waiter restores what [Sparse.Waiters] returned. It does nothing if the id has a row, or if the table's policy doesn't
// count (it may have changed since).
func (f Filler) Waiter(w Waiter) error {
	t := f.Table
	if !f.owns(w.ID) {
		return nil
	}
	if height := t.param.Height(); height > 0 && w.ID >= uint64(height) {
		return fmt.Errorf("%w: restore of %q: waiting id %d, the height is %d", ErrID, t.param.Name, w.ID, height)
	}
	for what, n := range map[string]float32{"show": w.Show, "click": w.Click} {
		if !countable(n) {
			return fmt.Errorf("table: restore of %q: the %s count of waiting id %d is %v", t.param.Name, what, w.ID, n)
		}
	}
	t.clock.atLeast(w.Seen &^ changed)
	s, hash := t.shardOf(w.ID)
	s.Lock()
	defer s.Unlock()
	if _, h := s.index.find(&s.arena, hash, w.ID); t.counts && h == nil {
		s.waiting.put(w.ID, waiter{marks{w.Show, w.Click}, w.Pushes, w.Seen | changed}, s.mayWait())
	}
	return nil
}

// Gone restores the Gone ids of an image.
func (f Filler) Gone(ids []uint64) {
	for _, id := range ids {
		if !f.owns(id) {
			continue
		}
		s, _ := f.Table.shardOf(id)
		s.Lock()
		s.gone = append(s.gone, id)
		s.Unlock()
	}
}

// eachShard calls do for every shard, by number, on all processors, and waits until all calls have returned.
func eachShard(shards int, do func(i int) error) error {
	var next atomic.Int32
	var all sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), shards))
	for k := range errs {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < shards && errs[k] == nil; i = int(next.Add(1)) - 1 {
				errs[k] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
