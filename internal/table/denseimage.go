package table

import "slices"

// BlockImage is a dense block in an image.
type BlockImage struct {
	Block
	image *denseImage
}

// Step is the number of the last update of the block, 0 before the first.
func (b *BlockImage) Step() int64 { return b.image.step }

// Len is how many weights the block has, and StateLen how many numbers of state.
func (b *BlockImage) Len() int { return b.Values.n }

// StateLen is how many numbers of state the block has.
func (b *BlockImage) StateLen() int { return stateLen(b.Values.rule, b.Values.n) }

// EachWeight gives do the weights, piece after piece.
func (b *BlockImage) EachWeight(do func(w []float32) error) error {
	for i := range b.Values.chunks {
		if err := do(b.image.take(i).w); err != nil {
			return err
		}
	}
	return nil
}

// EachState gives do the state, piece after piece, in the order in which the rule lays out that of all weights.
func (b *BlockImage) EachState(do func(state []float32) error) error {
	d := b.Values
	if len(d.chunks) == 1 {
		return do(b.image.take(0).state)
	}
	slots := 0
	if d.n > 0 {
		slots = b.StateLen() / d.n
	}
	for slot := range slots {
		for i := range d.chunks {
			c := b.image.take(i)
			if err := do(c.state[slot*len(c.w):][:len(c.w)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// denseImage is a block as it was, chunk by chunk.
type denseImage struct {
	d      *Dense
	step   int64
	copies []*chunkImage
}

// chunkImage is a copy of a chunk, made before the chunk is changed or when it is read.
type chunkImage struct{ w, state []float32 }

func (d *Dense) image() *denseImage {
	m := &denseImage{d: d, copies: make([]*chunkImage, len(d.chunks))}
	for i := range d.chunks {
		m.copies[i] = new(chunkImage)
		c := &d.chunks[i]
		c.Lock()
		c.image = m.copies[i]
		m.step = c.step
		c.Unlock()
	}
	return m
}

func (m *denseImage) close() {
	for i := range m.d.chunks {
		c := &m.d.chunks[i]
		c.Lock()
		c.image = nil
		c.Unlock()
	}
}

// take is the copy of a chunk.
func (m *denseImage) take(i int) *chunkImage {
	c := &m.d.chunks[i]
	c.Lock()
	defer c.Unlock()
	c.keep()
	return m.copies[i]
}

// keep copies a chunk that is about to change, if an image wants it. Locked.
func (c *chunk) keep() {
	if m := c.image; m != nil {
		m.w, m.state = slices.Clone(c.w), slices.Clone(c.state)
		c.image = nil
	}
}
