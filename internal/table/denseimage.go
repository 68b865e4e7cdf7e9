package table

import (
	"slices"
	"sync"
	"time"
)

// BlockImage is a dense block in an image.
type BlockImage struct {
	Block
	image *denseImage
}

// Step is the number of the last update of the block, 0 before the first.
func (b *BlockImage) Step() int64 { return b.image.step }

// Len is the number of weights in the block.
func (b *BlockImage) Len() int { return b.Values.n }

// StateLen is the number of state values in the block.
func (b *BlockImage) StateLen() int { return stateLen(b.Values.rule, b.Values.n) }

// EachWeight calls do with the weights, piece after piece; each piece is valid until do returns.
func (b *BlockImage) EachWeight(do func(w []float32) error) error { return b.image.each(0, do) }

// EachState calls do with the state, piece after piece, in the rule's layout for all weights. It is called after
// EachWeight.
func (b *BlockImage) EachState(do func(state []float32) error) error {
	for part := 1; part < b.image.parts; part++ {
		if err := b.image.each(part, do); err != nil {
			return err
		}
	}
	return nil
}

// denseImage is a block at one moment. It is read part by part, first the weights and then each slot of the state, and
// each part chunk by chunk. Unread values are copied before they change, and the copies are freed when they have been
// read.
type denseImage struct {
	d      *Dense
	step   int64
	parts  int
	chunks []chunkImage
	room   *room
	buffer []float32
}

// chunkImage is an image's record of a chunk, guarded by the chunk's lock.
type chunkImage struct {
	room   *room
	parts  int
	read   int         // number of parts that were read
	copied [][]float32 // by part, those that were unread when the chunk changed; nil if it has not
}

func (d *Dense) image(r *room) *denseImage {
	m := &denseImage{d: d, parts: 1 + d.slotCount(), chunks: make([]chunkImage, len(d.chunks)), room: r}
	for i := range d.chunks {
		m.chunks[i].room, m.chunks[i].parts = r, m.parts
		c := &d.chunks[i]
		c.Lock()
		c.image = &m.chunks[i]
		m.step = c.step
		c.Unlock()
	}
	return m
}

// slotCount is the number of state slots of each weight, or 1 if the state is one piece.
func (d *Dense) slotCount() int {
	switch n := stateLen(d.rule, d.n); {
	case n == 0 || len(d.chunks) == 1:
		return min(n, 1)
	default:
		return n / d.n
	}
}

func (m *denseImage) close() {
	for i := range m.d.chunks {
		c := &m.d.chunks[i]
		c.Lock()
		c.image, m.chunks[i].copied = nil, nil
		c.Unlock()
	}
	m.room.give(nil)
}

// each calls do with a part of all chunks.
func (m *denseImage) each(part int, do func(values []float32) error) error {
	m.room.open()
	for i := range m.chunks {
		for at, more := 0, true; more; at += denseChunk {
			if more = m.copy(i, part, at); len(m.buffer) == 0 {
				break
			}
			if err := do(m.buffer); err != nil {
				return err
			}
		}
		m.pass(i, part)
	}
	return nil
}

// copy copies a piece of a part of a chunk, as it was, to the buffer, and reports whether more follows.
func (m *denseImage) copy(i, part, at int) (more bool) {
	c := &m.d.chunks[i]
	c.RLock()
	defer c.RUnlock()
	from := c.part(part, m.parts)
	if copied := m.chunks[i].copied; copied != nil {
		from = copied[part]
	}
	end := min(at+denseChunk, len(from))
	m.buffer = append(m.buffer[:0], from[at:end]...)
	return end < len(from)
}

// pass frees a part of a chunk that was read.
func (m *denseImage) pass(i, part int) {
	c, is, freed := &m.d.chunks[i], &m.chunks[i], []float32(nil)
	c.Lock()
	if is.read = part + 1; is.copied != nil {
		freed, is.copied[part] = is.copied[part], nil
	}
	c.Unlock()
	m.room.give(freed)
}

// part is the weights, or a slot of the state, of a chunk with that many parts.
func (c *chunk) part(i, parts int) []float32 {
	switch {
	case i == 0:
		return c.w
	case parts == 2:
		return c.state
	}
	return c.state[(i-1)*len(c.w):][:len(c.w)]
}

// change locks a chunk that is about to change, after the unread parts of an image are copied; if there is no room for
// that, it waits for the image's reader.
func (c *chunk) change() {
	for {
		c.Lock()
		is := c.image
		if is == nil || is.copied != nil {
			return
		}
		need := 0
		for i := is.read; i < is.parts; i++ {
			need += 4 * len(c.part(i, is.parts))
		}
		freed := is.room.reserve(need)
		if freed == nil {
			is.copied = make([][]float32, is.parts)
			for i := is.read; i < is.parts; i++ {
				is.copied[i] = is.room.clone(c.part(i, is.parts))
			}
			return
		}
		c.Unlock()
		select {
		case <-freed:
		case <-time.After(time.Until(is.room.until)):
		}
	}
}

// room bounds the memory that an image copies of dense blocks while they are read: a gradient changes all of a variable
// at once, which would double its memory. If there is no room, changes wait for the reader, but for no longer than
// patience, so that a slow disk blocks no update. No update waits for a reader that has not begun, such as one that
// lists ids: everything that changes before is copied.
type room struct {
	mu    sync.Mutex
	bytes int
	spare [][]float32   // memory of copies that were read, for reuse
	until time.Time     // zero until the reader begins
	freed chan struct{} // closed when a copy is returned; nil if no change waits
}

const (
	mostCopied = 16 << 20
	patience   = 10 * time.Second
)

// open begins the reading.
func (r *room) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until.IsZero() {
		r.until = time.Now().Add(patience)
	}
}

// reserve reserves bytes; it returns nil, or a channel that is closed when the caller may try again.
func (r *room) reserve(bytes int) (freed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes > 0 && r.bytes+bytes > mostCopied && time.Now().Before(r.until) {
		if r.freed == nil {
			r.freed = make(chan struct{})
		}
		return r.freed
	}
	r.bytes += bytes
	return nil
}

// clone copies values, into reused memory if there is some of that size.
func (r *room) clone(values []float32) []float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.spare) - 1; last >= 0 && cap(r.spare[last]) >= len(values) {
		to := r.spare[last]
		r.spare = r.spare[:last]
		return append(to[:0], values...)
	}
	return slices.Clone(values)
}

// give returns the memory of a copy, and wakes waiting changes.
func (r *room) give(copied []float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes -= 4 * len(copied); len(copied) > 0 && r.bytes < mostCopied {
		r.spare = append(r.spare, copied)
	}
	if r.freed != nil {
		close(r.freed)
		r.freed = nil
	}
}
