package table

import (
	"fmt"
	"slices"
)

// A push of an earlier process, whose place this one takes, is replayed: it creates rows for the ids that got one then,
// and for no others. The current decision of a param's Entry and MaxBytes does not count, since it also depends on
// reads and on the order of concurrent pushes.

// played is the recorded result of a replayed push.
type played struct {
	refused []uint64 // ascending, as often as they were pushed
}

// Play replays a push with its recorded result: ids in refused, ascending, get no row. All watches record it.
func (t *Sparse) Play(ids []uint64, g []float32, n Clicks, step int64, refused []uint64) error {
	again := &played{refused}
	push := t.pushes()
	_, err := t.pushClicks(ids, g, n, step, func(t *Sparse, s *shard, c *call, b *block) {
		c.played = again
		push(t, s, c, b)
	})
	return err
}

// enterAgain is enter for a replayed push.
func (e *entry) enterAgain(s *shard, c *call, it item) *header {
	if at, refused := slices.BinarySearch(c.played.refused, it.id); refused {
		pushes := int32(0) // number of refused pushes of the id, whose shows are summed
		for ; at < len(c.played.refused) && c.played.refused[at] == it.id; at++ {
			pushes++
		}
		if e.counts {
			s.waits(c, it, pushes)
		}
		return nil
	}
	s.bound.add(1)
	h := s.born(&e.kind, it)
	if e.counts {
		e.admitted(s, it, h)
	}
	return h
}

// Dropped are the rows that the last Shrink of a Telling table has dropped, in no particular order.
func (t *Sparse) Dropped() []uint64 { return t.dropped }

// EndPeriodAgain replays the end of a period by [Store.EndPeriod], which dropped these rows, by table.
func (s *Store) EndPeriodAgain(o Shrink, dropped [][]uint64) error {
	if len(dropped) != len(s.Tables) {
		return fmt.Errorf("table: a period ended for %d tables, want %d", len(dropped), len(s.Tables))
	}
	for i, t := range s.Tables {
		own := o
		if !t.marked {
			own.Decay, own.MinScore = 0, 0
		}
		ids := map[uint64]bool{}
		for _, id := range dropped[i] {
			ids[id] = true
		}
		t.dropped = nil
		t.shrink(own, t.clock.Load(), func(h *header, _ bool) bool { return ids[h.id] })
	}
	if !o.Evict {
		s.Tick()
	}
	return nil
}

// refused records an id that got no row, if the table is Telling.
func (e *entry) refused(c *call, it item) {
	if e.telling && c.played == nil {
		if c.res.Refused == nil {
			c.res.Refused = new([]uint64)
		}
		for range c.pushes(it) {
			*c.res.Refused = append(*c.res.Refused, it.id)
		}
	}
}
