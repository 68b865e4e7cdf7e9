package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/gofleet/gofleet/internal/progress"
)

const (
	positionSize = 24
	// MaxPositions is the number of positions that a frame may have.
	MaxPositions = 1 << 10
	// withFrozen is the param of a section where each position is followed by the size of its frozen values and them.
	withFrozen = 1
	frozenSize = 4
)

// PositionsSize is the number of bytes of positions in a frame.
func PositionsSize(all []progress.Position) int {
	if len(all) == 0 {
		return 0
	}
	_, size := positionsSize(all)
	return sectionSize + pad(size)
}

// positionsSize returns the param of a section of positions, and the bytes of its payload.
func positionsSize(all []progress.Position) (param uint32, size int) {
	frozen := 0
	for _, p := range all {
		frozen += len(p.Frozen)
	}
	if frozen == 0 {
		return 0, positionSize * len(all)
	}
	return withFrozen, (positionSize+frozenSize)*len(all) + frozen
}

// Positions adds the places in the data of the threads whose gradients the frame pushes, if there are any.
func (b *Builder) Positions(all []progress.Position) {
	if len(all) == 0 {
		return
	}
	param, size := positionsSize(all)
	b.startSection(KindPosition, 0, param, size)
	le := binary.LittleEndian
	for _, p := range all {
		b.scratch = le.AppendUint16(b.scratch, p.Thread)
		b.scratch = le.AppendUint16(b.scratch, p.Threads)
		b.scratch = le.AppendUint32(b.scratch, p.Epoch)
		b.scratch = le.AppendUint64(b.scratch, p.Samples)
		b.scratch = le.AppendUint64(b.scratch, p.Steps)
		if param == withFrozen {
			b.scratch = append(le.AppendUint32(b.scratch, uint32(len(p.Frozen))), p.Frozen...)
		}
	}
	b.end(size)
}

// Positions appends to dst the places of the threads whose gradients the frame pushes; nothing if it has none.
func (f *Frame) Positions(dst []progress.Position) ([]progress.Position, error) {
	s, ok := f.section(KindPosition)
	if !ok {
		return dst, nil
	}
	size := positionSize
	if s.Param == withFrozen {
		size += frozenSize
	}
	le := binary.LittleEndian
	for b, n := s.data, 0; len(b) > 0; n++ {
		if len(b) < size || n == MaxPositions {
			return dst, fmt.Errorf("wire: positions of %d bytes: %w", len(s.data), ErrFrame)
		}
		p := progress.Position{Thread: le.Uint16(b), Threads: le.Uint16(b[2:]), Epoch: le.Uint32(b[4:]),
			Samples: le.Uint64(b[8:]), Steps: le.Uint64(b[16:])}
		rest := b[size:]
		if s.Param == withFrozen {
			n := le.Uint32(b[positionSize:])
			if uint64(n) > uint64(len(rest)) {
				return dst, fmt.Errorf("wire: a position with %d bytes of frozen values, %d are there: %w", n,
					len(rest), ErrFrame)
			}
			p.Frozen, rest = progress.Packed(rest[:n]), rest[n:]
		}
		b = rest
		if p.Thread >= max(p.Threads, 1) {
			return dst, fmt.Errorf("wire: a position of thread %d of %d: %w", p.Thread, p.Threads, ErrFrame)
		}
		dst = append(dst, p)
	}
	return dst, nil
}
