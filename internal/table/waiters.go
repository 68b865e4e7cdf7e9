package table

import (
	"cmp"
	"fmt"
	"slices"
)

// Waiter is an id that has no row yet, with what pushes have counted for it.
type Waiter struct {
	ID          uint64
	Pushes      uint32
	Seen        uint32 // the table's clock at the last push
	Show, Click float32
}

// Waiters returns the ids that wait for a row, ascending.
func (t *Sparse) Waiters() []Waiter {
	var all []Waiter
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		all = s.appendWaiters(all)
		s.Unlock()
	}
	slices.SortFunc(all, func(a, b Waiter) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// appendWaiters appends a shard's. Locked.
func (s *shard) appendWaiters(all []Waiter) []Waiter {
	s.waiting.each(func(id uint64, w *waiter) bool {
		all = append(all, w.waiter(id))
		return false
	})
	return all
}

// waiter is what is known of an id, for others.
func (w *waiter) waiter(id uint64) Waiter {
	return Waiter{id, w.pushes, w.seen &^ changed, w.show, w.click}
}

// RestoreWaiter puts back what [Sparse.Waiters] gave. It does nothing when the id has a row, or when the table's policy
// doesn't count (it may have changed since).
func (t *Sparse) RestoreWaiter(w Waiter) error {
	if height := t.param.Height(); height > 0 && w.ID >= uint64(height) {
		return fmt.Errorf("%w: restore of %q: waiting id %d, the height is %d", ErrID, t.param.Name, w.ID, height)
	}
	for what, n := range map[string]float32{"show": w.Show, "click": w.Click} {
		if !countable(n) {
			return fmt.Errorf("table: restore of %q: the %s count of waiting id %d is %v", t.param.Name, what, w.ID, n)
		}
	}
	t.atLeast(w.Seen &^ changed)
	s, hash := t.shardOf(w.ID)
	s.Lock()
	defer s.Unlock()
	if _, h := s.index.find(&s.arena, hash, w.ID); t.counts && h == nil {
		s.waiting.put(w.ID, waiter{marks{w.Show, w.Click}, w.Pushes, w.Seen | changed}, s.mayWait())
	}
	return nil
}

// Rated says whether rows count shows and clicks.
func (t *Sparse) Rated() bool { return t.marked }
