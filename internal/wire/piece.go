package wire

import (
	"encoding/binary"
	"fmt"
)

// Piece is the place of a frame in a message that is too large for one: number Number of Of, from 0. A frame that is a
// whole message is piece 0 of 1.
type Piece struct{ Number, Of int }

// maxPieces is far above what is sent: a push of 64 MiB frames would have 4 TiB.
const maxPieces = 1 << 16

// FrameOverhead is the most that a frame of a step has besides its values: the header and the sections' heads.
const FrameOverhead = 512

// Piece adds the frame's place in its message.
func (b *Builder) Piece(p Piece) {
	b.startSection(KindPiece, 0, 0, 8)
	b.scratch = binary.LittleEndian.AppendUint32(b.scratch, uint32(p.Number))
	b.scratch = binary.LittleEndian.AppendUint32(b.scratch, uint32(p.Of))
}

// Piece is the frame's place in its message.
func (f *Frame) Piece() (Piece, error) {
	s, ok := f.section(KindPiece)
	if !ok {
		return Piece{0, 1}, nil
	}
	if len(s.data) != 8 {
		return Piece{}, fmt.Errorf("wire: a piece's number of %d bytes: %w", len(s.data), ErrFrame)
	}
	number, of := binary.LittleEndian.Uint32(s.data), binary.LittleEndian.Uint32(s.data[4:])
	if of > maxPieces || number >= of {
		return Piece{}, fmt.Errorf("wire: piece %d of %d: %w", number, of, ErrFrame)
	}
	return Piece{int(number), int(of)}, nil
}

// Span adds the range [from, to) of the server's dense floats that the frame is about.
func (b *Builder) Span(from, to int) {
	b.startSection(KindSpan, 0, 0, 16)
	b.scratch = binary.LittleEndian.AppendUint64(b.scratch, uint64(from))
	b.scratch = binary.LittleEndian.AppendUint64(b.scratch, uint64(to))
}

// Span is the range [from, to) of the server's n dense floats that the frame is about, all if it has none.
func (f *Frame) Span(n int) (from, to int, err error) {
	s, ok := f.section(KindSpan)
	if !ok {
		return 0, n, nil
	}
	if len(s.data) != 16 {
		return 0, 0, fmt.Errorf("wire: a span of %d bytes: %w", len(s.data), ErrFrame)
	}
	lo, hi := binary.LittleEndian.Uint64(s.data), binary.LittleEndian.Uint64(s.data[8:])
	if lo > hi || hi > uint64(n) {
		return 0, 0, fmt.Errorf("wire: dense floats %d to %d of %d: %w", lo, hi, n, ErrFrame)
	}
	return int(lo), int(hi), nil
}

// section is the frame's first section of a kind.
func (f *Frame) section(k Kind) (Section, bool) {
	for _, s := range f.Sections {
		if s.Kind == k {
			return s, true
		}
	}
	return Section{}, false
}
