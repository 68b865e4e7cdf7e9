package optimizer

import "math"

// Arithmetic of float32: the compiler turns the first two into single instructions.

func sqrt(x float32) float32 { return float32(math.Sqrt(float64(x))) }

func abs(x float32) float32 { return float32(math.Abs(float64(x))) }

// sign returns −1, 0 or 1.
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

// or returns v, the default if v is 0, and 0 if v is −1, which stands for 0.
func or(v, def float64) float64 {
	switch v {
	case 0:
		return def
	case -1:
		return 0
	}
	return v
}
