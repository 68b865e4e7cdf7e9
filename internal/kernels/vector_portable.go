package kernels

import "math"

func axpy(alpha float32, x, y []float32) {
	x = x[:len(y)]
	for i := range y {
		y[i] += alpha * x[i]
	}
}

func beyond(alpha float32, dst, from, x []float32) {
	dst, from = dst[:len(x)], from[:len(x)]
	for i := range x {
		dst[i] = x[i] + alpha*(x[i]-from[i])
	}
}

func scaled(dst, x []float32, less, factor float32) {
	dst = dst[:len(x)]
	for i, v := range x {
		dst[i] = (v - less) * factor
	}
}

func add(dst, x, y []float32) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		dst[i] = x[i] + y[i]
	}
}

func mul(dst, x, y []float32, accumulate bool) {
	x, y = x[:len(dst)], y[:len(dst)]
	for i := range dst {
		put(&dst[i], x[i]*y[i], accumulate)
	}
}

// dot keeps four sums, so that additions need not wait for each other. The sum of each element, and the order in which
// the sums are added at the end, depend on the length only. So a path gives the same bits every time, but paths differ,
// since they keep different numbers of sums.
func dot(x, y []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(x) >= 4 && len(y) >= 4 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		x, y = x[4:], y[4:]
	}
	for i := range x {
		s0 += x[i] * y[i]
	}
	return (s0 + s1) + (s2 + s3)
}

func sum(x []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(x) >= 4 {
		s0 += x[0]
		s1 += x[1]
		s2 += x[2]
		s3 += x[3]
		x = x[4:]
	}
	for _, v := range x {
		s0 += v
	}
	return (s0 + s1) + (s2 + s3)
}

// maximum returns the largest number in x, −Inf if there is none.
func maximum(x []float32) float32 {
	m := float32(math.Inf(-1))
	for _, v := range x {
		if v > m {
			m = v
		}
	}
	return m
}
