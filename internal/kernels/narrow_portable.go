package kernels

import (
	"encoding/binary"
	"math"
)

const (
	halfMax   = 65504
	bfloatMax = 0x1.fep127
	int8Least = 0x1p-119 // below it 127/x might not be finite

	// int8Steps is the next float32 after 127, so that 127 times the scale never exceeds the largest number.
	int8Steps = 127 + 0x1p-17
)

func half(dst []byte, x []float32) {
	for i, v := range x {
		h := halfOf(v)
		binary.LittleEndian.PutUint16(dst[2*i:], h)
		x[i] = v - ofHalf(h)
	}
}

func fromHalf(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = ofHalf(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// halfOf rounds by adding half of the last place that is kept, and a little less if that place is even.
func halfOf(v float32) uint16 {
	b := math.Float32bits(min(max(v, -halfMax), halfMax))
	sign, a := uint16(b>>16)&0x8000, b&^(1<<31)
	if a < 0x38800000 { // below 2⁻¹⁴ halves are 2⁻²⁴ apart, like float32s around ½
		return sign | uint16(math.Float32bits(math.Float32frombits(a)+0.5)-0x3f000000)
	}
	a += 0xfff + a>>13&1
	return sign | uint16((a-112<<23)>>13)
}

// ofHalf moves the fields to their places in a float32 and corrects the exponent's bias by a multiplication, which is
// right for subnormal numbers too.
func ofHalf(h uint16) float32 {
	sign, a := uint32(h&0x8000)<<16, uint32(h&0x7fff)<<13
	if h&0x7c00 == 0x7c00 {
		return math.Float32frombits(sign | 0x7f800000 | a)
	}
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(a)*0x1p112))
}

func bfloat(dst []byte, x []float32) {
	for i, v := range x {
		b := math.Float32bits(min(max(v, -bfloatMax), bfloatMax))
		b += 0x7fff + b>>16&1
		binary.LittleEndian.PutUint16(dst[2*i:], uint16(b>>16))
		x[i] = v - math.Float32frombits(b&0xffff0000)
	}
}

func fromBFloat(dst []float32, src []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(uint32(binary.LittleEndian.Uint16(src[2*i:])) << 16)
	}
}

func int8s(dst []byte, x []float32) (scale float32) {
	var most uint32 // the bits of the largest magnitude; bits compare as magnitudes do
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
	}
	largest := math.Float32frombits(most)
	if largest < int8Least {
		clear(dst)
		return 0
	}
	scale = largest / int8Steps
	inverse := 127 / largest
	for i, v := range x {
		q := nearest(float32(v * inverse))
		dst[i] = byte(int8(q))
		x[i] = v - float32(q*scale)
	}
	return scale
}

// nearest rounds a number below 2²² to a whole number, ties to even, by a sum whose last place is 1.
func nearest(v float32) float32 {
	const shift = 0x1.8p23
	return float32(float32(v+shift) - shift)
}

func fromInt8(dst []float32, src []byte, scale float32) {
	for i := range dst {
		dst[i] = float32(int8(src[i])) * scale
	}
}
