package transport

import (
	"io"
	"math/bits"
	"sync"
)

// buffer is a pooled slice of bytes. Its first byte is 8-aligned, as in every allocation of 16 bytes and more, so that
// floats in it can be read without copying.
//
// A buffer has one holder, who releases it once; slices that alias it must not be used after that. Sizes are powers of
// two, so that messages of a job, which are similar from step to step but seldom equal, reuse each other's memory.
type buffer struct {
	B     []byte
	class int
}

const (
	smallestClass = 10 // 1 KiB
	// 128 MiB, above a frame of the default size; larger ones are left to the garbage collector
	largestClass = 27
	trusted      = 8 << 10 // what an announced length alone may allocate
	growth       = 4       // factor by which a full buffer grows
	largeGrowth  = 16      // the same from smallMessage on, where copying costs more
)

var shelves [largestClass + 1]shelf

// newBuffer returns a buffer of n bytes with arbitrary content.
func newBuffer(n int) *buffer {
	if b := usedBuffer(n); b != nil {
		return b
	}
	if class := classOf(n); class <= largestClass {
		return &buffer{B: make([]byte, n, 1<<class), class: class}
	}
	return &buffer{B: make([]byte, n), class: largestClass + 1}
}

func classOf(n int) int { return max(smallestClass, bits.Len(uint(max(n, 1)-1))) }

// usedBuffer is newBuffer from used memory only; nil if there is none.
func usedBuffer(n int) *buffer {
	class := classOf(n)
	if class > largestClass {
		return nil
	}
	b := shelves[class].get(class)
	if b != nil {
		b.B = b.B[:n]
	}
	return b
}

// release returns the bytes, which must not be read afterwards. It does nothing for a nil buffer.
func (b *buffer) release() {
	if b != nil && b.class <= largestClass {
		shelves[b.class].put(b)
	}
}

// shelf keeps the buffers of one size. For larger sizes the two used last are reused first, since they are still in the
// processor's caches. The garbage collector may take all others.
type shelf struct {
	pool sync.Pool
	mu   sync.Mutex
	warm []*buffer
}

const (
	warmFrom  = 16 // 64 KiB
	warmUpTo  = 23 // 8 MiB, so that all shelves together keep at most 32 MiB
	warmCount = 2
)

func (s *shelf) get(class int) *buffer {
	if class >= warmFrom && class <= warmUpTo {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n := len(s.warm); n > 0 {
			b := s.warm[n-1]
			s.warm = s.warm[:n-1]
			return b
		}
	}
	b, _ := s.pool.Get().(*buffer)
	return b
}

func (s *shelf) put(b *buffer) {
	if b.class < warmFrom || b.class > warmUpTo || !s.keep(b) {
		s.pool.Put(b)
	}
}

func (s *shelf) keep(b *buffer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.warm) == warmCount {
		return false
	}
	s.warm = append(s.warm, b)
	return true
}

// readBuffer reads n announced bytes. It allocates at most 8 KiB before any bytes arrive; beyond that the buffer grows
// as they do.
func readBuffer(r io.Reader, n int) (*buffer, error) {
	b := usedBuffer(n)
	if b == nil {
		b = newBuffer(min(n, trusted))
	}
	if _, err := io.ReadFull(r, b.B); err != nil {
		b.release()
		return nil, err
	}
	return b.readOn(r, n)
}

// readOn reads until there are n bytes, and returns the buffer with them. After an error the buffer is released.
func (b *buffer) readOn(r io.Reader, n int) (*buffer, error) {
	for have := len(b.B); have < n; have = len(b.B) {
		b = b.grow(n)
		if _, err := io.ReadFull(r, b.B[have:]); err != nil {
			b.release()
			return nil, err
		}
	}
	return b, nil
}

// grow makes room for more of n bytes, or for all if that needs no new memory.
func (b *buffer) grow(n int) *buffer {
	larger, by := usedBuffer(n), growth
	if len(b.B) >= smallMessage {
		by = largeGrowth
	}
	if larger == nil {
		larger = newBuffer(min(n, by*len(b.B)))
	}
	copy(larger.B, b.B)
	b.release()
	return larger
}

// sizeOf is the total length of the parts.
func sizeOf(parts [][]byte) int {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	return n
}

// join copies the parts into one buffer.
func join(parts [][]byte, size int) *buffer {
	b := newBuffer(size)
	rest := b.B
	for _, p := range parts {
		rest = rest[copy(rest, p):]
	}
	return b
}
