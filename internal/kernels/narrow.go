package kernels

// Formats with fewer bits, for messages. Narrowing rounds to nearest, ties to even, and leaves the rounding error in x,
// so that the caller can add it to what it sends next. Values of x are finite. A value beyond a format's range becomes
// the largest that it has, and the rest stays in x. Bytes are little-endian on every machine. All paths give the same
// bits.

// Float16 writes x to dst as IEEE 754 halves, 2 bytes each; the largest is 65504.
func Float16(dst []byte, x []float32) {
	checkLen("Float16", "dst", len(dst), 2*len(x))
	active.half(dst, x)
}

// FromFloat16 reads what Float16 wrote. An infinity or a NaN of src stays one in dst.
func FromFloat16(dst []float32, src []byte) {
	checkLen("FromFloat16", "src", len(src), 2*len(dst))
	active.fromHalf(dst, src)
}

// BFloat16 writes x to dst as the upper halves of float32s, 2 bytes each.
func BFloat16(dst []byte, x []float32) {
	checkLen("BFloat16", "dst", len(dst), 2*len(x))
	active.bfloat(dst, x)
}

// FromBFloat16 reads what BFloat16 wrote. An infinity or a NaN of src stays one in dst.
func FromBFloat16(dst []float32, src []byte) {
	checkLen("FromBFloat16", "src", len(src), 2*len(dst))
	active.fromBFloat(dst, src)
}

// Int8 writes x to dst as whole numbers from -127 to 127, in units of scale, a 127th of x's largest magnitude. If that
// is below 2⁻¹¹⁹, scale is 0 and all of x stays in x.
func Int8(dst []byte, x []float32) (scale float32) {
	checkLen("Int8", "dst", len(dst), len(x))
	return active.int8(dst, x)
}

// FromInt8 reads what Int8 wrote: dst = scale·src.
func FromInt8(dst []float32, src []byte, scale float32) {
	checkLen("FromInt8", "src", len(src), len(dst))
	active.fromInt8(dst, src, scale)
}
