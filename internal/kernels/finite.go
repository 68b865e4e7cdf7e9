package kernels

import "math"

// FirstNotFinite returns the index of the first NaN or infinity in x, -1 if there is none.
func FirstNotFinite(x []float32) int { return FirstBeyond(x, math.MaxFloat32) }

// FirstBeyond returns the index of the first NaN, or value of a magnitude above limit, in x; -1 if there is none.
func FirstBeyond(x []float32, limit float32) int {
	const stride = 4096
	bound := min(limit*limit, math.MaxFloat32)
	for at := 0; at < len(x); at += stride {
		part := x[at:min(at+stride, len(x))]
		if active.dot(part, part) <= bound {
			continue // such a sum of squares shows that no value is above limit
		}
		for i, v := range part {
			if !(v >= -limit && v <= limit) {
				return at + i
			}
		}
	}
	return -1
}

// MakeFinite replaces NaN by 0, and a value of a magnitude above limit by the largest other magnitude in x, with the
// value's sign.
func MakeFinite(x []float32, limit float32) {
	var largest float32
	for _, v := range x {
		if a := float32(math.Abs(float64(v))); a <= limit {
			largest = max(largest, a)
		}
	}
	for i, v := range x {
		switch {
		case v != v:
			x[i] = 0
		case v > limit:
			x[i] = largest
		case v < -limit:
			x[i] = -largest
		}
	}
}
