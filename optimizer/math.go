package optimizer

import "math"

// Arithmetic of float32: the compiler makes single instructions of the first two.

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func abs(x float32) float32 { return float32(math.Abs(float64(x))) }

// sign is −1, 0 or 1.
func sign(x float32) float32 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // 0, or NaN
}

func allZero(x []float32) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// or is v, the default when v is 0, and 0 when v is −1, which says that 0 is meant.
func or(v, def float64) float64 {
	switch v {
	case 0:
		return def
	case -1:
		return 0
	}
	return v
}
