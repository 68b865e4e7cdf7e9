package gradient

import (
	"encoding/binary"
	"errors"
	"math"
)

// Squares is a sum of squares of float32 numbers without any rounding, so that the order of additions does not matter:
// parts of it can be summed in different places. The zero value is 0.
//
// It is a fixed-point number in limbs of 32 bits, the first worth 2^-350: a square has 53 bits at 2^-350 or above, and
// the sum of 2^40 of them is below 2^322. Kulisch describes such accumulators in "Computer Arithmetic and Validity".
type Squares struct {
	limbs  [squareLimbs]uint64
	beyond bool // a term was not finite
}

const (
	squareLimbs     = 22
	squareExponents = 554  // exponents of squares that are finite and not zero
	leastSquare     = 725  // the biased exponent of 2^-298, the square of the smallest float32
	squareUnit      = -350 // the power of two that a 1 in the first limb stands for
	squareZeros     = 5    // bits that end a square's 53, which come from 24 times 24
	squareChunk     = 1 << 16
)

// Add adds the squares of x. An infinity or a NaN makes the sum NaN.
func (s *Squares) Add(x []float32) {
	for len(x) > 0 {
		n := min(len(x), squareChunk)
		s.addChunk(x[:n])
		x = x[n:]
	}
}

// addChunk sums squares of the same exponent first: 2^16 numbers of 48 bits fit into 64.
func (s *Squares) addChunk(x []float32) {
	var sums [squareExponents]uint64
	for _, v := range x {
		bits := math.Float64bits(float64(v) * float64(v)) // exact
		if e := bits>>52 - leastSquare; e < squareExponents {
			sums[e] += (bits&(1<<52-1) | 1<<52) >> squareZeros
		} else if v != 0 {
			s.beyond = true
		}
	}
	for e, sum := range sums {
		if sum != 0 {
			s.put(sum, e+squareZeros)
		}
	}
	s.carry()
}

// put adds n·2^at units.
func (s *Squares) put(n uint64, at int) {
	limb, shift := at/32, uint(at)%32
	low := n << shift
	s.limbs[limb] += low & math.MaxUint32
	s.limbs[limb+1] += low >> 32
	s.limbs[limb+2] += n >> (64 - shift)
}

// Merge adds another sum.
func (s *Squares) Merge(o *Squares) {
	for i, l := range o.limbs {
		s.limbs[i] += l
	}
	s.beyond = s.beyond || o.beyond
	s.carry()
}

// carry makes every limb smaller than 2^32.
func (s *Squares) carry() {
	for i := range squareLimbs - 1 {
		s.limbs[i+1] += s.limbs[i] >> 32
		s.limbs[i] &= math.MaxUint32
	}
}

// Float64 returns the sum, rounded: the same value for the same numbers in any order.
func (s *Squares) Float64() float64 {
	if s.beyond {
		return math.NaN()
	}
	first, n := s.span()
	if n == 0 {
		return 0
	}
	top := first + n - 1
	x := math.Ldexp(float64(s.limbs[top]), 32*top+squareUnit)
	for i := top - 1; i >= max(0, top-3); i-- {
		x += math.Ldexp(float64(s.limbs[i]), 32*i+squareUnit)
	}
	return x
}

// span returns the first limb that is not zero, and the number of limbs from there to the last one that is not zero.
func (s *Squares) span() (first, n int) {
	last := squareLimbs - 1
	for first < squareLimbs && s.limbs[first] == 0 {
		first++
	}
	for last >= first && s.limbs[last] == 0 {
		last--
	}
	return first, last - first + 1
}

// AppendSquares appends sums: for each a byte with the index of its first limb (255 if it is not finite), a byte with
// the number of limbs, and the limbs.
func AppendSquares(b []byte, sums []Squares) []byte {
	for i := range sums {
		first, n := sums[i].span()
		if sums[i].beyond {
			b = append(b, math.MaxUint8, 0)
			continue
		}
		b = append(b, byte(first), byte(n))
		for _, l := range sums[i].limbs[first:][:n] {
			b = binary.LittleEndian.AppendUint32(b, uint32(l))
		}
	}
	return b
}

var errSquares = errors.New("gradient: damaged sums of squares")

// ParseSquares reads n sums that AppendSquares has written, which must be all of b.
func ParseSquares(b []byte, n int) ([]Squares, error) {
	var sums []Squares
	for range n {
		if len(b) < 2 {
			return nil, errSquares
		}
		first, limbs := int(b[0]), int(b[1])
		b = b[2:]
		var s Squares
		if first == math.MaxUint8 {
			s.beyond, first = true, 0
		}
		if first+limbs > squareLimbs || len(b) < 4*limbs {
			return nil, errSquares
		}
		for i := range limbs {
			s.limbs[first+i] = uint64(binary.LittleEndian.Uint32(b[4*i:]))
		}
		sums, b = append(sums, s), b[4*limbs:]
	}
	if len(b) > 0 {
		return nil, errSquares
	}
	return sums, nil
}
