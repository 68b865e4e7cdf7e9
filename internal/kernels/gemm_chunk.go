package kernels

import "sync"

// scratch is what one goroutine needs: packed panels of A, and a tile for the edges of C.
type scratch struct {
	a    []float32
	tile [maxTile]float32
}

// maxTile is the size of the largest micro-kernel's tile.
const maxTile = 512

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// chunk computes rows rows of C from row i on. Panels of A are inside, so that a panel of B stays in the first-level cache.
func (j *gemmJob) chunk(s *scratch, i, rows int) {
	height := j.micro.rows
	a := j.panels(s, i, rows)
	for q := 0; q < j.width; q += j.micro.cols {
		b := j.b[q*j.depth:]
		for r := 0; r < rows; r += height {
			c := j.c[(i+r)*j.ldc+q:]
			j.tile(s, a.panel(r/height), b, c, min(height, rows-r), min(j.micro.cols, j.width-q))
		}
	}
}

// panels packs the chunk of A into panels.
func (j *gemmJob) panels(s *scratch, i, rows int) panelled {
	height := j.micro.rows
	n := (rows + height - 1) / height
	s.a = grow(s.a, n*height*j.depth)
	for r := range n {
		panel := s.a[r*height*j.depth:][:height*j.depth]
		packPanel(panel, j.a.from(i+r*height, 0), min(height, rows-r*height), height, j.depth)
	}
	return panelled{s.a, height, j.depth}
}

// panelled is a packed chunk of A.
type panelled struct {
	data          []float32
	height, depth int
}

func (p panelled) panel(r int) matrix { return matrix{p.data[r*p.height*p.depth:], 1, p.height} }

// tile computes one tile of C, of which rows × cols elements exist.
func (j *gemmJob) tile(s *scratch, a matrix, b, c []float32, rows, cols int) {
	if rows == j.micro.rows && cols == j.micro.cols {
		j.micro.run(j.depth, a.data, a.row, a.col, b, c, j.ldc, j.accumulate)
		return
	}
	width := j.micro.cols
	j.micro.run(j.depth, a.data, a.row, a.col, b, s.tile[:], width, false)
	for r := range rows {
		from, to := s.tile[r*width:][:cols], c[r*j.ldc:][:cols]
		if j.accumulate {
			add(to, to, from)
		} else {
			copy(to, from)
		}
	}
}
