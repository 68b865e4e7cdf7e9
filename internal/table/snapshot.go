package table

import "fmt"

// Snapshot copies a block: its weights, its state in the rule's layout for Len weights, and its step.
func (d *Dense) Snapshot() (w, state []float32, step int64) {
	w, state = make([]float32, d.n), make([]float32, stateLen(d.rule, d.n))
	at := 0
	for i := range d.chunks {
		c := &d.chunks[i]
		c.RLock()
		copy(w[at:], c.w)
		d.slots(c, at, func(whole, part []float32) { copy(whole, part) }, state)
		step = c.step
		c.RUnlock()
		at += len(c.w)
	}
	return w, state, step
}

// Restore restores what [Dense.Snapshot] returned. An empty state means the rule's initial state.
func (d *Dense) Restore(w, state []float32, step int64) error {
	if len(w) != d.n || len(state) != stateLen(d.rule, d.n) && len(state) != 0 {
		return fmt.Errorf("%w: restore of a dense block: %d weights and %d of state, need %d and %d", ErrShape, len(w),
			len(state),
			d.n, stateLen(d.rule, d.n))
	}
	at := 0
	for i := range d.chunks {
		c := &d.chunks[i]
		c.change()
		copy(c.w, w[at:])
		c.initState(d.rule)
		if len(state) > 0 {
			d.slots(c, at, func(whole, part []float32) { copy(part, whole) }, state)
		}
		c.step = step
		c.Unlock()
		at += len(c.w)
	}
	return nil
}

// slots calls do for each slot of a chunk that begins at weight at, with its place in the state of the whole block.
func (d *Dense) slots(c *chunk, at int, do func(whole, part []float32), state []float32) {
	if len(d.chunks) == 1 {
		do(state, c.state)
		return
	}
	k := len(c.w)
	for slot := range len(c.state) / k {
		do(state[slot*d.n+at:][:k], c.state[slot*k:][:k])
	}
}
