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
