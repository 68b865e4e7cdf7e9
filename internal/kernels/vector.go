package kernels

// Axpy adds alpha·x to y.
func Axpy(alpha float32, x, y []float32) {
	checkLen("Axpy", "x", len(x), len(y))
	active.axpy(alpha, x, y)
}

// Beyond writes x + alpha·(x − from) to dst: x moved on by alpha times its distance from from.
func Beyond(alpha float32, dst, from, x []float32) {
	checkLen("Beyond", "from", len(from), len(dst))
	checkLen("Beyond", "x", len(x), len(dst))
	active.beyond(alpha, dst, from, x)
}

// Scale multiplies x by alpha.
func Scale(alpha float32, x []float32) { active.scaled(x, x, 0, alpha) }

// Scaled writes (x − less)·factor, element by element, to dst.
func Scaled(dst, x []float32, less, factor float32) {
	checkLen("Scaled", "x", len(x), len(dst))
	active.scaled(dst, x, less, factor)
}

// Add writes x + y to dst.
func Add(dst, x, y []float32) {
	checkLen("Add", "x", len(x), len(dst))
	checkLen("Add", "y", len(y), len(dst))
	active.add(dst, x, y)
}

// Mul writes x · y, element by element, to dst.
func Mul(dst, x, y []float32) {
	checkLen("Mul", "x", len(x), len(dst))
	checkLen("Mul", "y", len(y), len(dst))
	active.mul(dst, x, y, false)
}

// AddMul adds x · y, element by element, to dst.
func AddMul(dst, x, y []float32) {
	checkGrad("AddMul", dst, x, y)
	active.mul(dst, x, y, true)
}

// Dot returns the inner product of x and y, summed in float32.
func Dot(x, y []float32) float32 {
	checkLen("Dot", "y", len(y), len(x))
	return active.dot(x, y)
}

// Sum returns the sum of x, in float32; 0 for an empty x.
func Sum(x []float32) float32 { return active.sum(x) }

// AddBias adds bias to every row of y, which is rows × len(bias).
func AddBias(y, bias []float32) {
	cols := len(bias)
	checkRows("AddBias", len(y), cols)
	for ; len(y) > 0; y = y[cols:] {
		active.add(y[:cols], y[:cols], bias)
	}
}

// SumRows writes the sum of the rows of x, which is rows × len(dst), to dst, or adds it there: the gradient of a bias.
// Rows are added in order.
func SumRows(dst, x []float32, accumulate bool) {
	cols := len(dst)
	checkRows("SumRows", len(x), cols)
	if !accumulate {
		clear(dst)
	}
	for ; len(x) > 0; x = x[cols:] {
		active.add(dst, dst, x[:cols])
	}
}
