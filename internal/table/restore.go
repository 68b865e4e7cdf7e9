package table

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
)

// Restore puts a row back as [Sparse.Rows] gave it, over the row of that id if there is one. A row without state (from
// a file of weights alone) gets the rule's initial state. The clock is moved on to when the row was seen. [ErrFull]
// says that there is no room.
func (t *Sparse) Restore(r Row) error {
	if err := t.restorable(&r); err != nil {
		return err
	}
	s, hash := t.shardOf(r.ID)
	s.Lock()
	defer s.Unlock()
	return s.restore(t, item{id: r.ID, hash: hash}, &r)
}

// restorable says why a row can't be one of this table.
func (t *Sparse) restorable(r *Row) error {
	if len(r.W) != t.dim || len(r.State) != t.state && len(r.State) != 0 {
		return fmt.Errorf("%w: restore of row %d of %q: %d weights and %d of state, need %d and %d", ErrShape, r.ID,
			t.param.Name,
			len(r.W), len(r.State), t.dim, t.state)
	}
	if height := t.param.Height(); height > 0 && r.ID >= uint64(height) {
		return fmt.Errorf("%w: restore of %q: id %d, the height is %d", ErrID, t.param.Name, r.ID, height)
	}
	if r.Step < 0 {
		return fmt.Errorf("table: restore of row %d of %q: its step is %d", r.ID, t.param.Name, r.Step)
	}
	if !countable(r.Show) || !countable(r.Click) || r.Delta != r.Delta {
		return fmt.Errorf("table: restore of row %d of %q: its counts are %v shows and %v clicks, its delta score %v",
			r.ID, t.param.Name, r.Show, r.Click, r.Delta)
	}
	return nil
}

// restore puts a row back. Locked.
func (s *shard) restore(t *Sparse, it item, r *Row) error {
	h := s.givenBy(t, it, s.bare)
	if h == nil {
		return t.full(r.ID)
	}
	copy(t.weights(h), r.W)
	if copy(t.slots(h), r.State) == 0 {
		t.initState(h)
	}
	h.step, h.seen, h.updates = r.Step, r.Seen&^flags|changed|r.flags(), r.Updates
	if t.marked {
		*t.marks(h), *t.delta(h) = marks{r.Show, r.Click}, r.Delta
	}
	s.hot.note(r.ID, r.Updates)
	t.atLeast(r.Seen &^ flags)
	return nil
}

// RestoreAll is [Sparse.Restore] of the rows that owns says are this table's, on all processors: rows of one shard
// come in their order, so that the table becomes what Restore of one row after the other makes of it. owns is called
// from several goroutines at once.
func (t *Sparse) RestoreAll(c *Columns, owns func(id uint64) bool) error {
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
	return t.eachShard(func(i int) error { return t.shards[i].restoreAll(t, work.of(i), c, owns) })
}

// restoreAll restores the rows of items. The index lines of the next are on their way while some are put back.
func (s *shard) restoreAll(t *Sparse, items []item, c *Columns, owns func(id uint64) bool) error {
	s.Lock()
	defer s.Unlock()
	s.prefetch(items[:min(len(items), blockLen)])
	for len(items) > 0 {
		n := min(len(items), blockLen)
		s.prefetch(items[n:min(len(items), n+blockLen)])
		for _, it := range items[:n] {
			if !owns(it.id) {
				continue
			}
			r := c.row(t, int(it.at))
			if err := t.restorable(&r); err != nil {
				return err
			}
			if err := s.restore(t, it, &r); err != nil {
				return err
			}
		}
		items = items[n:]
	}
	return nil
}

// eachShard does something for every shard, by number, on all processors, and waits until it is done.
func (t *Sparse) eachShard(do func(i int) error) error {
	var next atomic.Int32
	var all sync.WaitGroup
	errs := make([]error, min(runtime.GOMAXPROCS(0), len(t.shards)))
	for k := range errs {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(t.shards) && errs[k] == nil; i = int(next.Add(1)) - 1 {
				errs[k] = do(i)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
