package wire

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Builder builds a frame as a list of parts: heads and ids are in a buffer of its own, floats stay where the caller has
// them. A builder may be used again after Reset, and allocates nothing once its buffers have grown.
//
// Narrowed values (encoding.go) and small ones are copied into scratch; plain floats are parts that alias the caller's
// memory, so that a frame of a large gradient is never copied together. The caller must not change its floats until the
// frame has been answered, however often it is sent.
type Builder struct {
	head    [headerSize + partUnit]byte
	header  Header
	heads   []int // of sections, in scratch
	scratch []byte
	parts   [][]byte
	open    int // start in scratch of what was written after the last part
	group   [denseGroup]float32
	idBytes int
}

// Reset begins a new frame. Parts of the last one are no longer valid.
func (b *Builder) Reset(h Header) {
	b.header, b.heads, b.open = h, b.heads[:0], 0
	b.scratch, b.parts = b.scratch[:0], append(b.parts[:0], nil)
}

// Header is the header of the frame in the making; it may be changed until Parts.
func (b *Builder) Header() *Header { return &b.header }

// Parts ends the frame. The parts are valid until Reset, as long as the given floats do not change.
func (b *Builder) Parts() [][]byte {
	b.flush()
	parts := b.header.parts(b.head[headerSize:headerSize])
	b.seal(b.header.append(b.head[:0]), parts)
	b.parts[0] = b.head[:headerSize+len(parts)]
	return b.parts
}

// Dense adds the floats of a server's dense blocks.
func (b *Builder) Dense(pieces ...[]float32) {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	b.startSection(KindDense, 0, 0, 4*n)
	for _, p := range pieces {
		b.floats(p)
	}
	b.end(4 * n)
}

// IDs requests the rows of ids, which are strictly increasing.
func (b *Builder) IDs(param uint32, ids []uint64) { b.rows(KindIDs, param, ids, nil) }

// Peek requests rows as an evaluation does, in a frame of a training step.
func (b *Builder) Peek(param uint32, ids []uint64) {
	b.end(b.beginRows(KindIDs, flagPeek, param, ids, 0))
}

// Rows adds ids and their rows.
func (b *Builder) Rows(param uint32, ids []uint64, rows []float32) {
	b.rows(KindRows, param, ids, rows)
}

// IDBytes is the number of bytes of the ids that were added last.
func (b *Builder) IDBytes() int { return b.idBytes }

// Bare adds rows in the order of the requested ids.
func (b *Builder) Bare(param uint32, rows []float32) {
	b.startSection(KindRows, flagBare, param, 4*len(rows))
	b.floats(rows)
	b.end(4 * len(rows))
}

// Clicks adds the shows and clicks of the rows before it, two numbers for each id.
func (b *Builder) Clicks(param uint32, pairs []float32) {
	b.startSection(KindClicks, 0, param, 4*len(pairs))
	b.floats(pairs)
	b.end(4 * len(pairs))
}

// Changed requests the rows of a table that changed, or, in an answer, reports that more of them are left.
func (b *Builder) Changed(param uint32) { b.startSection(KindChanged, 0, param, 0) }

// All adds a section which says that the changed rows of a param, in this answer and the next ones, are all its rows.
func (b *Builder) All(param uint32) { b.startSection(KindChanged, flagAll, param, 0) }

// Blob adds bytes.
func (b *Builder) Blob(data []byte) {
	b.startSection(KindBlob, 0, 0, len(data))
	b.scratch = append(b.scratch, data...)
	b.end(len(data))
}

func (b *Builder) rows(kind Kind, param uint32, ids []uint64, rows []float32) {
	size := b.beginRows(kind, 0, param, ids, 4*len(rows))
	b.floats(rows)
	b.end(size)
}

// beginRows begins a section with ids and room for that many bytes of rows. It writes up to the rows, and returns the
// size of the payload.
func (b *Builder) beginRows(kind Kind, flags byte, param uint32, ids []uint64, rows int) (size int) {
	b.startSection(kind, flags, param, 0)
	start := len(b.scratch)
	b.scratch = append(b.scratch, 0, 0, 0, 0, 0, 0, 0, 0)
	b.scratch = putIDs(b.scratch, ids)
	le := binary.LittleEndian
	b.idBytes = len(b.scratch) - start - 8
	le.PutUint32(b.scratch[start:], uint32(len(ids)))
	le.PutUint32(b.scratch[start+4:], uint32(b.idBytes))
	b.zeros(pad(b.idBytes) - b.idBytes)
	size = len(b.scratch) - start + rows
	le.PutUint64(b.scratch[start-8:], uint64(size))
	return size
}

// putIDs appends ids as uvarints of their differences less one. Most take one byte or two, unpredictably: both are
// always written, and the second is kept only if needed.
func putIDs(dst []byte, ids []uint64) []byte {
	const chunk = 256 // ids for which there is room
	next, at := uint64(0), len(dst)
	for i, id := range ids {
		if i%chunk == 0 {
			dst = slices.Grow(dst[:at], min(chunk, len(ids)-i)*binary.MaxVarintLen64)
			dst = dst[:cap(dst)]
		}
		d := id - next
		next = id + 1
		if d >= 1<<14 {
			at += putUvarint(dst[at:], d)
			continue
		}
		two := (1<<7 - 1 - d) >> 63 // 1 if d takes two bytes, else 0
		binary.LittleEndian.PutUint16(dst[at:], uint16(d&0x7f|two<<7|d>>7<<8))
		at += 1 + int(two)
	}
	return dst[:at]
}

// putUvarint is [binary.PutUvarint] without a branch for each byte, as uvarint.
func putUvarint(dst []byte, d uint64) (size int) {
	if d >= 1<<56 {
		return binary.PutUvarint(dst, d)
	}
	w := d&0x000000000fffffff | d<<4&0x0fffffff00000000
	w = w&0x00003fff00003fff | w<<2&0x3fff00003fff0000
	w = w&0x007f007f007f007f | w<<1&0x7f007f007f007f00
	size = (bits.Len64(d|1) + 6) / 7
	binary.LittleEndian.PutUint64(dst, w|highBits&(1<<uint(8*size-8)-1))
	return size
}

func (b *Builder) startSection(kind Kind, flags byte, param uint32, size int) {
	b.heads = append(b.heads, len(b.scratch))
	b.scratch = append(b.scratch, byte(kind), flags, 0, 0)
	b.scratch = binary.LittleEndian.AppendUint32(b.scratch, param)
	b.scratch = binary.LittleEndian.AppendUint64(b.scratch, uint64(size))
}

func (b *Builder) end(size int) { b.zeros(pad(size) - size) }

func (b *Builder) zeros(n int) { b.scratch = append(b.scratch, make([]byte, 7)[:n]...) }

// floats adds f as a part of its own, which aliases f if this machine is little-endian.
func (b *Builder) floats(f []float32) {
	if len(f) == 0 {
		return
	}
	b.flush()
	b.parts = append(b.parts, bytesOf(f))
}

// flush makes a part of the new bytes in scratch. If scratch grows later, that part stays on the old array, which is
// still valid.
func (b *Builder) flush() {
	if len(b.scratch) > b.open {
		b.parts = append(b.parts, b.scratch[b.open:len(b.scratch):len(b.scratch)])
		b.open = len(b.scratch)
	}
}
