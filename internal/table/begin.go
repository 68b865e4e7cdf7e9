package table

import (
	"context"
	"fmt"
)

// Begin gives an empty table the rows that its param begins with, as far as owns says that it has them. A context that
// ends is an error.
func (t *Sparse) Begin(ctx context.Context, owns func(id uint64) bool) error {
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
		return t.SetOwned(ids, w, 0, owns)
	})
}

// SetOwned is [Sparse.Set] of the rows that are owned.
func (t *Sparse) SetOwned(ids []uint64, w []float32, step int64, owns func(id uint64) bool) error {
	mine, rows := make([]uint64, 0, len(ids)), make([]float32, 0, len(w))
	for i, id := range ids {
		if owns(id) {
			mine, rows = append(mine, id), append(rows, w[i*t.dim:][:t.dim]...)
		}
	}
	return t.Set(mine, rows, step)
}

// Clear drops all rows and forgets the ids that wait, and the periods in which they were used.
func (t *Sparse) Clear() {
	t.remade.Store(true)
	t.clock.Store(0)
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		for row := range s.arena.rows {
			if h := s.arena.at(row); h.step != isFree {
				s.drop(t, row, h)
			}
		}
		s.waiting.clear()
		s.gone = nil
		s.Unlock()
	}
}
