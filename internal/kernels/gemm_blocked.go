package kernels

// A microKernel computes a tile of rows × cols elements of C in registers: the innermost loop of Gemm. Element (i, p)
// of A is a[i*row+p*col], (p, j) of B is b[p*ldb+j], (i, j) of C is c[i*ldc+j]. The sum over k starts from zero and is
// then written to C or added to it. half is for the last panel of B if that has at most half of the columns, low for
// two rows: it takes up to half of rows in less time than run. They are nil if there is no such kernel.
type microKernel struct {
	rows, cols     int
	run, half, low tileFunc
}

type tileFunc = func(k int, a []float32, row, col int, b []float32, ldb int, c []float32, ldc int, accumulate bool)

// width returns the number of columns that the kernel for a panel of cols columns computes.
func (m *microKernel) width(cols int) int {
	if m.half != nil && 2*cols <= m.cols {
		return m.cols / 2
	}
	return m.cols
}

// fit returns the kernel for rows rows of a panel so wide, and the number of rows that it computes.
func (m *microKernel) fit(rows, width int) (run tileFunc, height int) {
	switch {
	case width < m.cols:
		return m.half, m.rows
	case m.low != nil && 2*rows <= m.rows:
		return m.low, 2
	}
	return m.run, m.rows
}

// Block sizes fit caches: a packed panel of B (depth × cols) takes a small part of the first level, or streams from the
// second; a block of B (depth × width) and the rows of A that are multiplied with it stay in the second level.
const (
	blockDepth = 512
	blockWidth = 1024
	// The most rows of C that a goroutine takes at a time, one of several and one alone; both are a multiple of every
	// micro-kernel's rows.
	chunkRows, aloneRows = 48, 96
)

// gemmBlocked is Gemm for matrices, block by block: for each block of k, in order, all of n, and within that all rows
// of C. The first block of k writes C, the others add to it, so that an element's terms are added in the order of k
// whatever the sizes.
func gemmBlocked(a, b matrix, m, n, k int, c []float32, accumulate bool, threads int) {
	j := newJob(active.micro, m, n, threads)
	j.product(a, b, n, k, c, accumulate)
	j.free()
}

// product computes A·B block by block.
func (j *gemmJob) product(a, b matrix, n, k int, c []float32, accumulate bool) {
	for p := 0; p < k; p += blockDepth {
		for q := 0; q < n; q += blockWidth {
			j.source = b.from(p, q)
			j.block(a, p, q, n, k, c, accumulate || p > 0)
		}
	}
}

// block computes the contribution of the block of B at (p, q) to C; B is k×n.
func (j *gemmJob) block(a matrix, p, q, n, k int, c []float32, accumulate bool) {
	j.depth, j.width = min(blockDepth, k-p), min(blockWidth, n-q)
	j.a, j.c, j.accumulate = a.from(0, p), c[q:], accumulate
	j.run()
}
