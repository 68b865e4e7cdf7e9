package dataset

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"gorgonia.org/tensor"
)

// store is the values of a column, of any type.
type store interface {
	len() int
	zeros(n int)                   // appends n zeros
	grow(n int)                    // makes room for n more
	append(from store, lo, hi int) // appends values of another store of the type
	move(to, lo, hi int)           // copies values to an earlier place
	truncate(n int)                // keeps the first n
	first() any                    // a pointer to the first value; there must be one
	tensor(e engine, shape ...int) *tensor.Dense
	appendBytes(b []byte, lo, hi int) []byte // little-endian
	readBytes(b []byte, n int) (rest []byte) // appends n values, of which b has enough
	bytesEach() int
	pick(from store, rows []int, width int) // appends rows of so many values of another store of the type
}

// value is a type of column values.
type value interface{ float32 | int64 | uint64 }

// cells is a store of one type.
type cells[T value] struct{ v []T }

func newStore(t tensor.Dtype) store {
	switch t {
	case tensor.Int64:
		return &cells[int64]{}
	case tensor.Uint64:
		return &cells[uint64]{}
	}
	return &cells[float32]{}
}

// in returns the values of a store, nil if it is of another type.
func in[T value](s store) []T {
	if c, ok := s.(*cells[T]); ok {
		return c.v
	}
	return nil
}

func (c *cells[T]) len() int                      { return len(c.v) }
func (c *cells[T]) grow(n int)                    { c.v = slices.Grow(c.v, n) }
func (c *cells[T]) append(from store, lo, hi int) { c.v = append(c.v, from.(*cells[T]).v[lo:hi]...) }
func (c *cells[T]) move(to, lo, hi int)           { copy(c.v[to:], c.v[lo:hi]) }
func (c *cells[T]) truncate(n int)                { c.v = c.v[:n] }
func (c *cells[T]) first() any                    { return &c.v[0] }

func (c *cells[T]) pick(from store, rows []int, width int) {
	all, to := from.(*cells[T]).v, slices.Grow(c.v, len(rows)*width)
	for _, r := range rows {
		if width == 1 { // without a call
			to = append(to, all[r])
		} else {
			to = append(to, all[r*width:(r+1)*width]...)
		}
	}
	c.v = to
}

func (c *cells[T]) zeros(n int) {
	c.v = slices.Grow(c.v, n)[:len(c.v)+n]
	clear(c.v[len(c.v)-n:])
}

// tensor returns a tensor of the values. One of none has memory all the same, since its Data would panic without.
func (c *cells[T]) tensor(e engine, shape ...int) *tensor.Dense {
	if len(c.v) == 0 {
		return tensor.New(tensor.WithEngine(e), tensor.WithShape(shape...), tensor.Of(kindOf[T]().dtype()),
			tensor.FromMemory(uintptr(unsafe.Pointer(&none)), 1))
	}
	return tensor.New(tensor.WithEngine(e), tensor.WithShape(shape...), tensor.WithBacking(c.v))
}

var none byte

func (c *cells[T]) bytesEach() int { return binary.Size(T(0)) }

func (c *cells[T]) appendBytes(b []byte, lo, hi int) []byte {
	b, _ = binary.Append(b, binary.LittleEndian, c.v[lo:hi])
	return b
}

func (c *cells[T]) readBytes(b []byte, n int) (rest []byte) {
	c.zeros(n)
	used, _ := binary.Decode(b, binary.LittleEndian, c.v[len(c.v)-n:])
	return b[used:]
}
