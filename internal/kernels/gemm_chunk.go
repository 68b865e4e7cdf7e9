package kernels

import "sync"

// scratch is the memory that one goroutine needs for the edges of A and C.
type scratch struct {
	panel []float32
	tile  [maxTile]float32
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
		b, cols := j.b[q*j.depth:], min(j.micro.cols, j.width-q)
		for r := 0; r < whole; r += height {
			j.tile(s, j.a.data[(i+r)*j.a.row:], j.a.row, j.a.col, b, j.c[(i+r)*j.ldc+q:], height, cols)
		}
		if whole < rows {
			j.tile(s, edge, 1, height, b, j.c[(i+whole)*j.ldc+q:], rows-whole, cols)
		}
	}
}

// pack copies rows rows of a from row i on, and zeros up to height, to the scratch panel, column by column.
func (s *scratch) pack(a matrix, i, rows, height, depth int) []float32 {
	if rows == 0 {
		return nil
	}
	s.panel = grow(s.panel, height*depth)
	packPanel(s.panel, a.from(i, 0), rows, height, depth)
	return s.panel
}

// tile computes one tile of C, of which rows × cols elements exist. It takes A as a slice and strides, since a struct
// would be copied in larger pieces than those just written to it, which waits until all stores to C are done.
func (j *gemmJob) tile(s *scratch, a []float32, row, col int, b, c []float32, rows, cols int) {
	run, width := j.micro.fit(cols)
	if rows == j.micro.rows && cols == width {
		run(j.depth, a, row, col, b, c, j.ldc, j.accumulate)
		return
	}
	run(j.depth, a, row, col, b, s.tile[:], width, false)
	for r := range rows {
		from, to := s.tile[r*width:][:cols], c[r*j.ldc:][:cols]
		if j.accumulate {
			active.add(to, to, from)
		} else {
			copy(to, from)
		}
	}
}
