package kernels

// These functions add up the columns of a matrix in float64, row by row. All paths give the same bits.

// wideLoop is a loop over columns: x is a row of float32; a and b have a float64 for each column.
type wideLoop func(x []float32, a, b []float64)

// AddWide adds a row to sums.
func AddWide(sums []float64, x []float32) {
	checkLen("AddWide", "x", len(x), len(sums))
	active.addWide(x, sums, sums)
}

// AddSquares adds (x − mean)² of a row to sums.
func AddSquares(sums, mean []float64, x []float32) {
	checkLen("AddSquares", "x", len(x), len(sums))
	checkLen("AddSquares", "mean", len(mean), len(sums))
	active.addSquares(x, sums, mean)
}

// Normal writes (x − mean)·factor of a row to dst.
func Normal(dst, x []float32, mean, factor []float64) {
	checkLen("Normal", "x", len(x), len(dst))
	checkLen("Normal", "mean", len(mean), len(dst))
	checkLen("Normal", "factor", len(factor), len(dst))
	active.normal(dst, x, mean, factor)
}

func addWide(x []float32, sums, _ []float64) {
	sums = sums[:len(x)]
	for i, v := range x {
		sums[i] += float64(v)
	}
}

func addSquares(x []float32, sums, mean []float64) {
	sums, mean = sums[:len(x)], mean[:len(x)]
	for i, v := range x {
		d := float64(v) - mean[i]
		sums[i] += float64(d * d) // rounded, on machines too that would fuse it with the sum
	}
}

func normal(dst, x []float32, mean, factor []float64) {
	dst, mean, factor = dst[:len(x)], mean[:len(x)], factor[:len(x)]
	for i, v := range x {
		dst[i] = float32((float64(v) - mean[i]) * factor[i])
	}
}
