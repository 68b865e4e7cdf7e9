package table

import (
	"cmp"
	"slices"
)

// Waiter is an id that has no row yet, with the counts of its pushes.
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

// appendWaiters appends the waiters of a shard. The caller holds the shard's lock.
func (s *shard) appendWaiters(all []Waiter) []Waiter {
	s.waiting.each(func(id uint64, w *waiter) bool {
		all = append(all, w.waiter(id))
		return false
	})
	return all
}

// waiter returns the counts of an id for callers outside.
func (w *waiter) waiter(id uint64) Waiter {
	return Waiter{id, w.pushes, w.seen &^ changed, w.show, w.click}
}
