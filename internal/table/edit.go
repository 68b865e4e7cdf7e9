package table

// Edit calls do with every piece of the block: its place, its weights and its rule's state, which do may change.
func (d *Dense) Edit(do func(at int, w, state []float32)) {
	at := 0
	for i := range d.chunks {
		c := &d.chunks[i]
		c.change()
		do(at, c.w, c.state)
		c.Unlock()
		at += len(c.w)
	}
}
