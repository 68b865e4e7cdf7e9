package kernels

import (
	"sync"
	"sync/atomic"
)

// A microKernel computes a tile of rows × cols elements of C in registers: the innermost loop of Gemm. Element (i, p) of A is
// a[i*row+p*col]; B is packed, cols elements for each of the k steps; element (i, j) of C is c[i*ldc+j]. The sum over k starts
// from zero and is then written to C or added to it.
type microKernel struct {
	rows, cols int
	run        func(k int, a []float32, row, col int, b, c []float32, ldc int, accumulate bool)
}

// Blocks are chosen for caches: a packed panel of B (depth × cols) is small beside the first level or streams from the second
// at leisure, a block of B (depth × width) and the rows of A that meet it stay in the second level.
const (
	blockDepth = 512
	blockWidth = 1024
	chunkRows  = 48 // rows of C that a goroutine takes at a time, at most; a multiple of every micro-kernel's rows
)

// gemmBlocked is Gemm for matrices: B is packed block by block, and chunks of rows of C go to whichever goroutine is free.
func gemmBlocked(a, b matrix, m, n, k int, c []float32, accumulate bool, threads int) {
	j := jobs.Get().(*gemmJob)
	j.micro, j.m, j.ldc, j.threads = active.micro, m, n, threads
	j.rows = chunkFor(m, threads, j.micro.rows)
	for p := 0; p < k; p += blockDepth {
		for q := 0; q < n; q += blockWidth {
			j.depth, j.width = min(blockDepth, k-p), min(blockWidth, n-q)
			j.a, j.c, j.accumulate = a.from(0, p), c[q:], accumulate || p > 0
			j.pack(b.from(p, q))
			j.run()
		}
	}
	j.a, j.c = matrix{}, nil
	jobs.Put(j)
}

// chunkFor is the number of rows to take at a time, a multiple of height, such that every thread gets some.
func chunkFor(m, threads, height int) int {
	share := (m + threads - 1) / threads
	return min(chunkRows, (share+height-1)/height*height)
}

// gemmJob is the product of a column of blocks of A (m × depth) and one block of B (depth × width).
type gemmJob struct {
	micro        microKernel
	a            matrix
	b            []float32 // packed: panels of micro.cols columns
	c            []float32
	m            int
	depth, width int
	ldc          int
	accumulate   bool
	threads      int
	rows         int // of a chunk

	next    atomic.Int64 // the next chunk of rows that nobody took
	helpers sync.WaitGroup
	help    func() // what a helping goroutine does; kept here so that starting one allocates nothing
}

var jobs = sync.Pool{New: func() any {
	j := new(gemmJob)
	j.help = func() { j.work(); j.helpers.Done() }
	return j
}}

// pack copies the block of b into panels, the last one padded with zeros.
func (j *gemmJob) pack(b matrix) {
	cols := j.micro.cols
	panels := (j.width + cols - 1) / cols
	j.b = grow(j.b, panels*cols*j.depth)
	for q := range panels {
		panel := j.b[q*cols*j.depth:][:cols*j.depth]
		packPanel(panel, b.from(0, q*cols).turned(), min(cols, j.width-q*cols), cols, j.depth)
	}
}

// run computes all rows, with help.
func (j *gemmJob) run() {
	j.next.Store(0)
	for range j.threads - 1 {
		j.helpers.Add(1)
		go j.help()
	}
	j.work()
	j.helpers.Wait()
}

// work takes chunks of rows until there is none left.
func (j *gemmJob) work() {
	s := scratches.Get().(*scratch)
	for {
		i := int(j.next.Add(1)-1) * j.rows
		if i >= j.m {
			break
		}
		j.chunk(s, i, min(j.rows, j.m-i))
	}
	scratches.Put(s)
}
