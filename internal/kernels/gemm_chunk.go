package kernels

import "sync"

// scratch is the memory that one goroutine needs for the edges of A and C.
type scratch struct {
	edge []float32
	tile [maxTile]float32
}

// maxTile is the size of the largest micro-kernel's tile.
const maxTile = 512

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// chunk computes rows rows of C from row i on. The loop over groups of rows is inside, so that a panel of B stays in
// the first-level cache. A is read in place, except the last rows if they are fewer than the micro-kernel's.
func (j *gemmJob) chunk(s *scratch, i, rows int) {
	height := j.micro.rows
	whole := rows / height * height
	edge := s.pack(j.a, i+whole, rows-whole, height, j.depth)
	for q := 0; q < j.width; q += j.micro.cols {
		b, ldb, cols, width := j.panelAt(q)
		for r := 0; r < whole; r += height {
			j.tile(s, j.a.data[(i+r)*j.a.row:], j.a.row, j.a.col, b, ldb, j.c[(i+r)*j.ldc+q:], height, cols, width)
		}
		for r := whole; r < rows; {
			_, low := j.micro.fit(rows-whole, width)
			j.tile(s, edge[r-whole:], 1, height, b, ldb, j.c[(i+r)*j.ldc+q:], min(low, rows-r), cols, width)
			r += low
		}
	}
}

// pack copies rows rows of a from row i on, and zeros up to height, to the scratch memory, column by column.
func (s *scratch) pack(a matrix, i, rows, height, depth int) []float32 {
	if rows == 0 {
		return nil
	}
	s.edge = grow(s.edge, height*depth)
	packPanel(s.edge, a.from(i, 0), rows, height, depth)
	return s.edge
}

// tile computes one tile of C, of which rows × cols elements exist. It takes matrices as slices and strides, since a
// struct would be copied in larger pieces than those just written to it, which waits until all stores to C are done.
func (j *gemmJob) tile(s *scratch, a []float32, row, col int, b []float32, ldb int, c []float32,
	rows, cols, width int) {
	run, height := j.micro.fit(rows, width)
	if rows == height && cols == width {
		run(j.depth, a, row, col, b, ldb, c, j.ldc, j.accumulate)
		return
	}
	run(j.depth, a, row, col, b, ldb, s.tile[:], width, false)
	for r := range rows {
		from, to := s.tile[r*width:][:cols], c[r*j.ldc:][:cols]
		if j.accumulate {
			active.add(to, to, from)
		} else {
			copy(to, from)
		}
	}
}
