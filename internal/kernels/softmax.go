package kernels

// SoftmaxRows writes the softmax of every row of x, which is rows × cols, to dst: e^(x−m) over its sum, m being the
// largest element of the row. A row with a NaN or a +Inf becomes NaN.
func SoftmaxRows(dst, x []float32, cols int) {
	checkLen("SoftmaxRows", "x", len(x), len(dst))
	checkRows("SoftmaxRows", len(x), cols)
	for i := 0; i < len(x); i += cols {
		row := dst[i : i+cols]
		_, sum := Exponentials(row, x[i:i+cols])
		active.scaled(row, row, 0, 1/sum)
	}
}

// Exponentials writes e^(x−m) to dst, and returns m, the largest element of x, and the sum of what it wrote. A NaN or a
// +Inf in x makes the sum NaN.
func Exponentials(dst, x []float32) (m, sum float32) {
	checkLen("Exponentials", "x", len(x), len(dst))
	m = active.max(x)
	active.exp(dst, x, m)
	return m, active.sum(dst)
}

// SoftmaxRowsGrad writes to dx, or adds there, the gradient of SoftmaxRows: y·(dy − Σ y·dy) in each row, y being its
// output.
func SoftmaxRowsGrad(dx, y, dy []float32, cols int, accumulate bool) {
	checkGrad("SoftmaxRowsGrad", dx, y, dy)
	checkRows("SoftmaxRowsGrad", len(y), cols)
	for i := 0; i < len(y); i += cols {
		row, grad := y[i:i+cols], dy[i:i+cols]
		active.softmaxGrad(dx[i:i+cols], row, grad, active.dot(row, grad), accumulate)
	}
}
