package narrow

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Format is how numbers are stored.
type Format string

// The formats. The zero value is float32.
const (
	Float32 Format = ""
	Float16 Format = "float16"
	Int8    Format = "int8"
)

// Check returns an error for another format.
func (f Format) Check() error {
	if f != Float32 && f != Float16 && f != Int8 {
		return fmt.Errorf("rows of %q: want %q, %q, or nothing for float32", f, Float16, Int8)
	}
	return nil
}

// Fits returns an error for a number that the format can't hold.
func (f Format) Fits(w []float32) error {
	if f != Float16 {
		return nil
	}
	for _, v := range w {
		if v > mostHalf || v < -mostHalf || v != v {
			return fmt.Errorf("%v is beyond float16, whose largest is %v: store the rows as float32", v, mostHalf)
		}
	}
	return nil
}

const mostHalf = 65504

// Rows are rows of dim numbers. Slices of them share memory.
type Rows struct {
	as     Format
	dim    int
	w      []float32 // of float32s
	bytes  []byte    // of the others
	scales []float32 // of 8 bits: one a row
}

// New returns no rows, with room for n.
func New(as Format, dim, n int) Rows {
	r := Rows{as: as, dim: dim}
	switch as {
	case Float16:
		r.bytes = make([]byte, 0, 2*n*dim)
	case Int8:
		r.bytes, r.scales = make([]byte, 0, n*dim), make([]float32, 0, n)
	default:
		r.w = make([]float32, 0, n*dim)
	}
	return r
}

// Len is the number of rows.
func (r *Rows) Len() int {
	switch {
	case r.dim == 0:
		return 0
	case r.as == Float16:
		return len(r.bytes) / 2 / r.dim
	case r.as == Int8:
		return len(r.scales)
	}
	return len(r.w) / r.dim
}

// Append adds rows.
func (r *Rows) Append(w []float32) {
	switch r.as {
	case Float16:
		at := len(r.bytes)
		r.bytes = slices.Grow(r.bytes, 2*len(w))[:at+2*len(w)]
		kernels.Float16(r.bytes[at:], slices.Clone(w)) // which leaves the rounding errors in what it reads
	case Int8:
		for row := range slices.Chunk(slices.Clone(w), r.dim) {
			at := len(r.bytes)
			r.bytes = slices.Grow(r.bytes, r.dim)[:at+r.dim]
			r.scales = append(r.scales, kernels.Int8(r.bytes[at:], row))
		}
	default:
		r.w = append(r.w, w...)
	}
}

// Join adds the rows of o, which has the same format and dim.
func (r *Rows) Join(o Rows) {
	r.w, r.bytes, r.scales = append(r.w, o.w...), append(r.bytes, o.bytes...), append(r.scales, o.scales...)
}

// Copy copies row i to w.
func (r *Rows) Copy(w []float32, i int) {
	lo, hi := i*r.dim, (i+1)*r.dim
	switch r.as {
	case Float16:
		kernels.FromFloat16(w[:r.dim], r.bytes[2*lo:2*hi])
	case Int8:
		kernels.FromInt8(w[:r.dim], r.bytes[lo:hi], r.scales[i])
	default:
		copy(w, r.w[lo:hi])
	}
}

// All copies all rows to w.
func (r *Rows) All(w []float32) {
	if r.as == Float32 {
		copy(w, r.w)
		return
	}
	for i := range r.Len() {
		r.Copy(w[i*r.dim:], i)
	}
}

// Slice returns the rows [lo, hi).
func (r *Rows) Slice(lo, hi int) Rows {
	s := *r
	switch r.as {
	case Float16:
		s.bytes = r.bytes[2*lo*r.dim : 2*hi*r.dim]
	case Int8:
		s.bytes, s.scales = r.bytes[lo*r.dim:hi*r.dim], r.scales[lo:hi]
	default:
		s.w = r.w[lo*r.dim : hi*r.dim]
	}
	return s
}

// Clone returns a copy that shares no memory.
func (r *Rows) Clone() Rows {
	s := *r
	s.w, s.bytes, s.scales = slices.Clone(r.w), slices.Clone(r.bytes), slices.Clone(r.scales)
	return s
}

// Set replaces row i by row j of o, which has the same format and dim.
func (r *Rows) Set(i int, o Rows, j int) {
	to, from := r.Slice(i, i+1), o.Slice(j, j+1)
	copy(to.w, from.w)
	copy(to.bytes, from.bytes)
	copy(to.scales, from.scales)
}

// Encoded are the rows as a file has them: float32s, or bytes with a scale for each row of 8 bits.
func (r *Rows) Encoded() (w []float32, bytes []byte, scales []float32) { return r.w, r.bytes, r.scales }

// Decoded are rows that a file has, the reverse of [Rows.Encoded].
func Decoded(as Format, dim int, w []float32, bytes []byte, scales []float32) Rows {
	return Rows{as, dim, w, bytes, scales}
}
