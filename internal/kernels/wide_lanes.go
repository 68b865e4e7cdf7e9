//go:build amd64 || arm64

package kernels

//go:noescape
func addWideLanes(x []float32, sums, _ []float64)

//go:noescape
func addSquaresLanes(x []float32, sums, mean []float64)

//go:noescape
func normalLanes(dst, x []float32, mean, factor []float64)

// byFours runs a loop in assembly over the columns up to a multiple of four, and a portable one over the rest.
func byFours(lanes, rest wideLoop) wideLoop {
	return func(x []float32, a, b []float64) {
		n := len(x) &^ 3
		if n > 0 {
			lanes(x[:n], a[:n], b[:n])
		}
		rest(x[n:], a[n:], b[n:])
	}
}

func normalByFours(dst, x []float32, mean, factor []float64) {
	n := len(x) &^ 3
	if n > 0 {
		normalLanes(dst[:n], x[:n], mean[:n], factor[:n])
	}
	normal(dst[n:], x[n:], mean[n:], factor[n:])
}
