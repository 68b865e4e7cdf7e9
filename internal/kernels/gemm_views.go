package kernels

// View is a matrix that need not be contiguous, or several that start Step elements apart: element (i, j) of the first
// is Data[i·Row+j·Col]. Row or Col is 1. Rows may overlap if they are only read.
type View struct {
	Data           []float32
	Row, Col, Step int
}

// Turned returns the transposes.
func (v View) Turned() View { return View{v.Data, v.Col, v.Row, v.Step} }

// at returns the i-th of the matrices.
func (v View) at(i int) matrix { return matrix{v.Data[i*v.Step:], v.Row, v.Col} }

// GemmViews writes A·B to C, or adds it there, for count matrices each: A is m×k, B k×n, C m×n with a Col of 1. A B
// with a Step of 0 is the same for all; a C with a Step of 0 and accumulate is the sum of all. Otherwise no two
// matrices of C overlap.
func GemmViews(count, m, n, k int, a, b, c View, accumulate bool) {
	if count == 0 || m == 0 || n == 0 {
		return
	}
	checkView("A", a, count, m, k)
	checkView("B", b, count, k, n)
	checkView("C", c, count, m, n)
	j := newJob(active.micro, m, n, gemmThreads(m, n, k))
	j.ldc = c.Row
	for i := range count {
		j.keep = b.Step == 0 && k <= blockDepth && n <= blockWidth
		j.ready = j.keep && i > 0
		j.product(a.at(i), b.at(i), n, k, c.Data[i*c.Step:], accumulate)
	}
	j.free()
}

// checkView panics if the data end before the last element of the last matrix.
func checkView(which string, v View, count, rows, cols int) {
	if (rows > 0 && cols > 0) && (count-1)*v.Step+(rows-1)*v.Row+(cols-1)*v.Col >= len(v.Data) {
		panic("kernels: GemmViews: " + which + " ends before its last element")
	}
}
