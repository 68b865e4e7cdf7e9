package table

// Edit calls do with the place in ids of each row, its weights and its rule's state, which do may change. A missing row is
// born first, whatever its Entry; [ErrFull] names one that found no room. Rows are visited one at a time, in no particular
// order; do must not call the table.
func (t *Sparse) Edit(ids []uint64, do func(i int, w, state []float32)) error {
	_, err := t.walk("edit", ids, nil, Counts{}, 0, func(t *Sparse, s *shard, c *call, b *block) {
		for _, it := range b.items {
			h := s.given(t, it)
			if h == nil {
				c.err = t.full(it.id)
				continue
			}
			h.see(c.clock)
			do(int(it.at), t.weights(h), t.slots(h))
		}
	})
	return err
}

// Edit calls do with every piece of the block: where it begins, its weights and its rule's state, which do may change.
func (d *Dense) Edit(do func(at int, w, state []float32)) {
	at := 0
	for i := range d.chunks {
		c := &d.chunks[i]
		c.Lock()
		do(at, c.w, c.state)
		c.Unlock()
		at += len(c.w)
	}
}
