package wire

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Position is how far one training thread of a worker is in its data: it has trained on the first Samples of its share of an epoch, up to
// and with the push that carries it. The worker has Threads of them, and its shares of the data go by that number.
type Position struct {
	Thread  uint16 `json:"thread,omitempty"`
	Threads uint16 `json:"threads"`
	Epoch   uint32 `json:"epoch"`
	Samples uint64 `json:"samples"`
}

const (
	positionSize = 16
	// MaxPositions is how many one frame may have.
	MaxPositions = 1 << 10
)

// PositionsSize is how many bytes of a frame n positions take.
func PositionsSize(n int) int {
	if n == 0 {
		return 0
	}
	return sectionSize + n*positionSize
}

// Positions adds how far the threads are whose gradients the frame pushes; none adds nothing.
func (b *Builder) Positions(all []Position) {
	if len(all) == 0 {
		return
	}
	b.begin(KindPosition, 0, 0, positionSize*len(all))
	le := binary.LittleEndian
	for _, p := range all {
		b.scratch = le.AppendUint16(b.scratch, p.Thread)
		b.scratch = le.AppendUint16(b.scratch, p.Threads)
		b.scratch = le.AppendUint32(b.scratch, p.Epoch)
		b.scratch = le.AppendUint64(b.scratch, p.Samples)
	}
}

// Positions appends to dst how far the threads are whose gradients the frame pushes: nothing if it does not say.
func (f *Frame) Positions(dst []Position) ([]Position, error) {
	s, ok := f.section(KindPosition)
	if !ok {
		return dst, nil
	}
	n := len(s.data) / positionSize
	if len(s.data)%positionSize != 0 || n > MaxPositions {
		return dst, fmt.Errorf("wire: positions of %d bytes: %w", len(s.data), ErrFrame)
	}
	le := binary.LittleEndian
	for i := range n {
		b := s.data[i*positionSize:]
		p := Position{Thread: le.Uint16(b), Threads: le.Uint16(b[2:]), Epoch: le.Uint32(b[4:]), Samples: le.Uint64(b[8:])}
		if p.Thread >= p.Threads {
			return dst, fmt.Errorf("wire: a position of thread %d of %d: %w", p.Thread, p.Threads, ErrFrame)
		}
		dst = append(dst, p)
	}
	return dst, nil
}

// Moved is at, the positions of one worker's threads in their order, with one that came later. A worker that has another number of threads
// than before has no other positions.
func Moved(at []Position, p Position) []Position {
	if len(at) > 0 && at[0].Threads != p.Threads {
		at = at[:0]
	}
	i, found := slices.BinarySearchFunc(at, p, func(a, b Position) int { return int(a.Thread) - int(b.Thread) })
	if found {
		at[i] = p
		return at
	}
	return slices.Insert(at, i, p)
}

// Lowest are the positions that two servers agree on: of each thread the one that is behind. A thread that one of them has not heard of
// has none.
func Lowest(a, b []Position) (low []Position) {
	for _, p := range a {
		i := slices.IndexFunc(b, func(q Position) bool { return q.Thread == p.Thread && q.Threads == p.Threads })
		if i >= 0 {
			low = append(low, behind(p, b[i]))
		}
	}
	return low
}

func behind(p, q Position) Position {
	if q.Epoch < p.Epoch || q.Epoch == p.Epoch && q.Samples < p.Samples {
		return q
	}
	return p
}
