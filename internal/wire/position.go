package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/gofleet/gofleet/internal/progress"
)

const (
	positionSize = 24
	// shortPosition is the size of a position without steps, as earlier builds sent it.
	shortPosition = 16
	// MaxPositions is the number of positions that a frame may have.
	MaxPositions = 1 << 10
	// withSteps is the param of a section of positions that have steps.
	withSteps = 1
)

// PositionsSize is the number of bytes of n positions in a frame.
func PositionsSize(n int) int {
	if n == 0 {
		return 0
	}
	return sectionSize + n*positionSize
}

// Positions adds the places in the data of the threads whose gradients the frame pushes, if there are any.
func (b *Builder) Positions(all []progress.Position) {
	if len(all) == 0 {
		return
	}
	b.startSection(KindPosition, 0, withSteps, positionSize*len(all))
	le := binary.LittleEndian
	for _, p := range all {
		b.scratch = le.AppendUint16(b.scratch, p.Thread)
		b.scratch = le.AppendUint16(b.scratch, p.Threads)
		b.scratch = le.AppendUint32(b.scratch, p.Epoch)
		b.scratch = le.AppendUint64(b.scratch, p.Samples)
		b.scratch = le.AppendUint64(b.scratch, p.Steps)
	}
}

// Positions appends to dst the places of the threads whose gradients the frame pushes; nothing if it has none.
func (f *Frame) Positions(dst []progress.Position) ([]progress.Position, error) {
	s, ok := f.section(KindPosition)
	if !ok {
		return dst, nil
	}
	size := shortPosition
	if s.Param == withSteps {
		size = positionSize
	}
	n := len(s.data) / size
	if len(s.data)%size != 0 || n > MaxPositions {
		return dst, fmt.Errorf("wire: positions of %d bytes: %w", len(s.data), ErrFrame)
	}
	le := binary.LittleEndian
	for i := range n {
		b := s.data[i*size:]
		p := progress.Position{Thread: le.Uint16(b), Threads: le.Uint16(b[2:]), Epoch: le.Uint32(b[4:]),
			Samples: le.Uint64(b[8:])}
		if size == positionSize {
			p.Steps = le.Uint64(b[shortPosition:])
		}
		if p.Thread >= max(p.Threads, 1) {
			return dst, fmt.Errorf("wire: a position of thread %d of %d: %w", p.Thread, p.Threads, ErrFrame)
		}
		dst = append(dst, p)
	}
	return dst, nil
}
