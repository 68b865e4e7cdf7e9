package kernels

// gemv writes op(A)·x to y, or adds it there: a product in which one side is a vector. A is m×k, or k×m when trans is
// set.
func gemv(trans bool, m, k int, a, x, y []float32, accumulate bool) {
	if !trans {
		for i := range m {
			put(&y[i], active.dot(a[i*k:(i+1)*k], x), accumulate)
		}
		return
	}
	if !accumulate {
		clear(y)
	}
	for p, v := range x {
		active.axpy(v, a[p*m:(p+1)*m], y)
	}
}

// outer writes the product of a column and a row, x·yᵀ, to c, or adds it there.
func outer(x, y, c []float32, accumulate bool) {
	if !accumulate {
		clear(c)
	}
	for i, v := range x {
		active.axpy(v, y, c[i*len(y):(i+1)*len(y)])
	}
}

// CombineRows writes the sum of x[i] times row i of a to y; a is len(x)×len(y). It is Gemm with one row on the left,
// for an a that is known to be finite: it does not read rows whose x[i] is zero, as half of them are after a ReLU.
func CombineRows(y, x, a []float32) {
	checkLen("CombineRows", "a", len(a), len(x)*len(y))
	clear(y)
	for i, v := range x {
		if v != 0 {
			active.axpy(v, a[i*len(y):(i+1)*len(y)], y)
		}
	}
}
