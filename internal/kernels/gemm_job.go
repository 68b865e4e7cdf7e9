package kernels

import (
	"sync"
	"sync/atomic"
)

// gemmJob is the product of a column of blocks of A (m × depth) and one block of B (depth × width). A free goroutine
// packs the next panel of B and, when all are packed, computes the next chunk of rows of C.
//
// Panels and chunks are taken from two counters, so that a goroutine that the system holds up delays one chunk, not a
// share of the rows. An element's value does not depend on the goroutine that computes it: every element of C is summed
// by one micro-kernel call a block, over k in order, and blocks follow each other. So the bits are the same for any
// number of threads, and no two goroutines write to one element. The job, with its packed block, is pooled; helpers
// have ended when run returns.
type gemmJob struct {
	micro        microKernel
	a, source    matrix    // source is the block of B
	b            []float32 // packed: panels of micro.cols columns
	ready        bool      // b was packed before
	late         bool      // a panel of B is packed where it is needed, into the same memory
	room         []float32 // memory for b if it was not packed before
	c            []float32
	m            int
	depth, width int
	ldc          int
	accumulate   bool
	threads      int
	keep         bool // further products take the same b
	rows         int  // of a chunk

	panel, chunks atomic.Int64 // the next one that is not taken
	packed        sync.WaitGroup
	helpers       sync.WaitGroup
	help          func() // the function of a helping goroutine; kept here so that starting one allocates nothing
}

var jobs = sync.Pool{New: func() any {
	j := new(gemmJob)
	j.help = func() { j.work(); j.helpers.Done() }
	return j
}}

// newJob returns a job for m rows of C, which has n columns.
func newJob(micro microKernel, m, n, threads int) *gemmJob {
	j := jobs.Get().(*gemmJob)
	j.micro, j.m, j.ldc, j.threads, j.ready, j.keep = micro, m, n, threads, false, false
	j.rows = chunkFor(m, threads, micro.rows)
	return j
}

// free returns the job to the pool, without the matrices.
func (j *gemmJob) free() {
	j.a, j.source, j.b, j.c = matrix{}, matrix{}, nil, nil
	jobs.Put(j)
}

// chunkFor returns the number of rows to take at a time, a multiple of height, such that every thread gets some.
func chunkFor(m, threads, height int) int {
	most := chunkRows
	if threads == 1 {
		most = aloneRows
	}
	share := (m + threads - 1) / threads
	return min(most, (share+height-1)/height*height)
}

// panels returns the number of panels of the block of B.
func (j *gemmJob) panels() int { return (j.width + j.micro.cols - 1) / j.micro.cols }

// run computes all rows, with helping goroutines.
func (j *gemmJob) run() {
	j.panel.Store(int64(j.panels()))
	j.chunks.Store(0)
	j.late = !j.ready && !j.keep && j.m <= j.rows
	if j.late {
		j.room = grow(j.room, j.micro.cols*j.depth)
		j.b = j.room
	} else if !j.ready {
		j.room = grow(j.room, j.panels()*j.micro.cols*j.depth)
		j.b = j.room
		j.panel.Store(0)
		j.packed.Add(j.panels())
	}
	for range j.threads - 1 {
		j.helpers.Add(1)
		go j.help()
	}
	j.work()
	j.helpers.Wait()
}

// work takes panels and then chunks until there are none left.
func (j *gemmJob) work() {
	for q := j.claim(&j.panel); q < j.panels(); q = j.claim(&j.panel) {
		j.pack(q*j.micro.cols, j.b[q*j.micro.cols*j.depth:])
		j.packed.Done()
	}
	j.packed.Wait()
	s := scratches.Get().(*scratch)
	for i := j.claim(&j.chunks) * j.rows; i < j.m; i = j.claim(&j.chunks) * j.rows {
		j.chunk(s, i, min(j.rows, j.m-i))
	}
	scratches.Put(s)
}

func (j *gemmJob) claim(next *atomic.Int64) int { return int(next.Add(1) - 1) }

// pack copies the panel of B at column q, padding the last one with zeros.
func (j *gemmJob) pack(q int, panel []float32) {
	cols := min(j.micro.cols, j.width-q)
	width := j.micro.width(cols)
	packPanel(panel[:width*j.depth], j.source.from(0, q).turned(), cols, width, j.depth)
}

// panelAt returns the panel of B at column q, the distance of its rows, and how many columns of it exist and are
// computed. If there is but one chunk, a panel is used once, and read where it lies if all of it exists; unless it is
// read often, and its rows are so far apart that they fall into the same sets of the caches.
func (j *gemmJob) panelAt(q int) (b []float32, ldb, cols, width int) {
	cols = min(j.micro.cols, j.width-q)
	width = j.micro.width(cols)
	far := j.source.row%1024 == 0 && j.m > 4*j.micro.rows
	switch {
	case !j.late:
		return j.b[q*j.depth:], width, cols, width
	case j.source.col == 1 && cols == width && !far:
		return j.source.data[q:], j.source.row, cols, width
	}
	j.pack(q, j.b)
	return j.b, width, cols, width
}
