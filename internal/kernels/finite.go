package kernels

import "math"

// FirstNotFinite returns the index of the first NaN or infinity in x, -1 if there is none.
func FirstNotFinite(x []float32) int {
	const stride = 4096
	for at := 0; at < len(x); at += stride {
		part := x[at:min(at+stride, len(x))]
		if squares := active.dot(part, part); squares-squares == 0 {
			continue // a finite sum shows that all values are finite
		}
		for i, v := range part {
			if v-v != 0 {
				return at + i
			}
		}
	}
	return -1
}

// MakeFinite replaces NaN by 0, and an infinity by the largest finite magnitude in x, with the infinity's sign.
func MakeFinite(x []float32) {
	var largest float32
	for _, v := range x {
		if a := float32(math.Abs(float64(v))); a <= math.MaxFloat32 {
			largest = max(largest, a)
		}
	}
	for i, v := range x {
		switch {
		case v != v:
			x[i] = 0
		case v > math.MaxFloat32:
			x[i] = largest
		case v < -math.MaxFloat32:
			x[i] = -largest
		}
	}
}
