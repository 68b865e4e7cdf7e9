package table

import "unsafe"

// header is what a row begins with. Weights and state follow it in the same arena chunk.
type header struct {
	id      uint64
	step    int64  // the last step that was applied
	seen    uint32 // the table's clock when the row was last pulled or pushed
	updates uint32 // how often it was pushed
}

const headerFloats = int(unsafe.Sizeof(header{}) / 4)

// layout is how the rows of a table lie in memory, in floats.
type layout struct {
	dim, state, stride int
}

func newLayout(dim, state int) layout {
	n := headerFloats + dim + state
	return layout{dim, state, n + n&1} // headers hold 8-byte numbers
}

func (l layout) weights(h *header) []float32 {
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(h), unsafe.Sizeof(header{}))), l.dim)
}

func (l layout) slots(h *header) []float32 {
	if l.state == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Add(unsafe.Pointer(h), 4*(headerFloats+l.dim))), l.state)
}

// arena holds rows by number in chunks that never move.
type arena struct {
	chunks [][]float32
	rows   uint32
	shift  uint // log2 of the rows of a chunk
	stride int
}

// newArena chooses chunks of 2048 rows, fewer when rows are wide. Large allocations are whole pages of 8 KiB, which 2048 rows
// fill exactly.
func newArena(stride int) arena {
	shift := uint(11)
	for shift > 4 && stride<<shift > 1<<18 {
		shift--
	}
	return arena{shift: shift, stride: stride}
}

func (a *arena) at(row uint32) *header {
	chunk := a.chunks[row>>a.shift]
	return (*header)(unsafe.Pointer(&chunk[int(row&(1<<a.shift-1))*a.stride]))
}

// add returns the number and the place of a new row, all zeros.
func (a *arena) add() (uint32, *header) {
	row := a.rows
	if int(row>>a.shift) == len(a.chunks) {
		a.chunks = append(a.chunks, make([]float32, a.stride<<a.shift))
	}
	a.rows++
	return row, a.at(row)
}

func (a *arena) bytes() int {
	return len(a.chunks)*(a.stride<<a.shift)*4 + cap(a.chunks)*int(unsafe.Sizeof([]float32{}))
}
