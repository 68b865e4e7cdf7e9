package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Encoding is the format of a section's floats; the package's doc describes each format.
type Encoding uint8

// The encodings of floats.
const (
	Float32 Encoding = iota
	Float16
	BFloat16
	Int8
)

var encodingNames = [...]string{"float32", "float16", "bfloat16", "int8"}

func (e Encoding) String() string {
	if int(e) < len(encodingNames) {
		return encodingNames[e]
	}
	return fmt.Sprintf("encoding(%d)", uint8(e))
}

// A group of int8 numbers begins with its scale; dense floats are in groups of denseGroup.
const (
	scaleSize  = 4
	denseGroup = 256
)

// DenseSize is the bytes of n dense floats.
func (e Encoding) DenseSize(n int) int {
	switch e {
	case Float16, BFloat16:
		return 2 * n
	case Int8:
		return n + (n+denseGroup-1)/denseGroup*scaleSize
	}
	return 4 * n
}

// DenseFit is the number of dense floats that fit into that many bytes, in whole groups.
func (e Encoding) DenseFit(bytes int) int {
	if e == Int8 {
		return bytes / (scaleSize + denseGroup) * denseGroup
	}
	return bytes / e.DenseSize(1)
}

// RowSize is the bytes of a row of width floats.
func (e Encoding) RowSize(width int) int {
	if e == Int8 {
		return scaleSize + width
	}
	return e.DenseSize(width)
}

// DenseAs is Dense in another encoding than Float32. It copies, and leaves the rounding errors in the pieces: the
// caller adds them to its next gradient, so that in the long run nothing is lost to rounding. A frame is narrowed once,
// when it is built, and repeated as it is: narrowing it again would count the errors twice.
func (b *Builder) DenseAs(e Encoding, pieces ...[]float32) {
	n := 0
	for _, p := range pieces {
		n += len(p)
	}
	size := e.DenseSize(n)
	b.startSection(KindDense, byte(e)<<encodingShift, 0, size)
	dst := b.room(size)
	if e == Int8 {
		b.groups(dst, n, pieces)
	} else {
		for _, p := range pieces {
			e.narrow(dst[:2*len(p)], p)
			dst = dst[2*len(p):]
		}
	}
	b.end(size)
}

// RowsAs is Rows in another encoding than Float32. It copies, and leaves the rounding errors in rows.
func (b *Builder) RowsAs(e Encoding, param uint32, ids []uint64, rows []float32) {
	width := 0
	if len(ids) > 0 {
		width = len(rows) / len(ids)
	}
	rowSize := e.RowSize(width)
	size := b.beginRows(KindRows, byte(e)<<encodingShift, param, ids, rowSize*len(ids))
	dst := b.room(rowSize * len(ids))
	if e != Int8 {
		e.narrow(dst, rows)
	} else {
		for i := range ids {
			narrowGroup(dst[i*rowSize:][:rowSize], rows[i*width:][:width])
		}
	}
	b.end(size)
}

// room returns n more bytes of scratch.
func (b *Builder) room(n int) []byte {
	at := len(b.scratch)
	b.scratch = slices.Grow(b.scratch, n)[:at+n]
	return b.scratch[at:]
}

// groups narrows n floats in pieces to groups, which may extend over several pieces.
func (b *Builder) groups(dst []byte, n int, pieces [][]float32) {
	var p []float32
	for ; n > 0; n -= denseGroup {
		size := min(n, denseGroup)
		for len(p) == 0 {
			p, pieces = pieces[0], pieces[1:]
		}
		if len(p) >= size {
			narrowGroup(dst[:scaleSize+size], p[:size])
			p = p[size:]
		} else {
			p, pieces = b.straddle(dst[:scaleSize+size], p, pieces)
		}
		dst = dst[scaleSize+size:]
	}
}

// straddle narrows a group that begins in one piece and ends in another. It returns what is left of the pieces.
func (b *Builder) straddle(dst []byte, p []float32, pieces [][]float32) ([]float32, [][]float32) {
	group := b.group[:len(dst)-scaleSize]
	walk := func(move func(group, piece []float32)) (p2 []float32, rest [][]float32) {
		p2, rest = p, pieces
		for at := 0; at < len(group); {
			for len(p2) == 0 {
				p2, rest = rest[0], rest[1:]
			}
			k := min(len(p2), len(group)-at)
			move(group[at:at+k], p2[:k])
			p2, at = p2[k:], at+k
		}
		return p2, rest
	}
	walk(func(group, piece []float32) { copy(group, piece) })
	narrowGroup(dst, group)
	return walk(func(group, piece []float32) { copy(piece, group) })
}

func narrowGroup(dst []byte, x []float32) {
	scale := kernels.Int8(dst[scaleSize:], x)
	binary.LittleEndian.PutUint32(dst, math.Float32bits(scale))
}

func (e Encoding) narrow(dst []byte, x []float32) {
	if e == Float16 {
		kernels.Float16(dst, x)
	} else {
		kernels.BFloat16(dst, x)
	}
}

// DenseIn is Dense for any encoding: narrowed floats are widened into room, which grows if needed.
func (s Section) DenseIn(room *[]float32) ([]float32, error) {
	switch s.coded {
	case Float32:
		return floats(s.data)
	case Int8:
		n, err := denseFloats(len(s.data))
		if err != nil {
			return nil, err
		}
		return widen(grown(room, n), s.data, denseGroup), nil
	}
	return s.coded.widen16(room, s.data)
}

// denseFloats is the number of floats in groups of that many bytes.
func denseFloats(size int) (int, error) {
	n := size - (size+scaleSize+denseGroup-1)/(scaleSize+denseGroup)*scaleSize
	if n < 0 || Int8.DenseSize(n) != size {
		return 0, fmt.Errorf("wire: %d bytes are not whole groups of int8: %w", size, ErrFrame)
	}
	return n, nil
}

// RowsIn is Rows for any encoding; room is as for [Section.DenseIn].
func (s Section) RowsIn(room *[]float32) ([]float32, error) {
	if s.coded == Float32 {
		return s.Rows()
	}
	_, rows, err := s.split()
	if err != nil {
		return nil, err
	}
	if s.coded != Int8 {
		return s.coded.widen16(room, rows)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	count := s.Count()
	if count == 0 || len(rows)%count != 0 || len(rows)/count <= scaleSize {
		return nil, fmt.Errorf("wire: table %d: %d bytes are not %d rows of int8: %w", s.Param, len(rows), count,
			ErrFrame)
	}
	width := len(rows)/count - scaleSize
	return widen(grown(room, width*count), rows, width), nil
}

// plain reads floats that must be in Float32.
func (s Section) plain(b []byte) ([]float32, error) {
	if s.coded != Float32 {
		return nil, fmt.Errorf("wire: %v where float32 is needed: %w", s.coded, ErrFrame)
	}
	return floats(b)
}

func (e Encoding) widen16(room *[]float32, b []byte) ([]float32, error) {
	if len(b)%2 != 0 {
		return nil, fmt.Errorf("wire: %d bytes are not a whole number of %v: %w", len(b), e, ErrFrame)
	}
	dst := grown(room, len(b)/2)
	if e == Float16 {
		kernels.FromFloat16(dst, b)
	} else {
		kernels.FromBFloat16(dst, b)
	}
	return dst, nil
}

// widen reads groups of width floats; the last group may be shorter.
func widen(dst []float32, b []byte, width int) []float32 {
	for rest := dst; len(rest) > 0; {
		n := min(width, len(rest))
		scale := math.Float32frombits(binary.LittleEndian.Uint32(b))
		kernels.FromInt8(rest[:n], b[scaleSize:][:n], scale)
		rest, b = rest[n:], b[scaleSize+n:]
	}
	return dst
}

// grown returns n floats of room, which grows if it has fewer.
func grown(room *[]float32, n int) []float32 {
	if cap(*room) < n {
		*room = make([]float32, n)
	}
	return (*room)[:n]
}
