package table

import "unsafe"

// arena holds rows by number in chunks that never move. A row that was dropped is the next to be given out.
//
// Chunks are slices of float32 and hold no pointers, so that the garbage collector passes over gigabytes of rows. That
// is why free rows are chained through their own headers, by number, and why a header lies in floats and is looked at
// through unsafe. A pointer to a header is good as long as the shard's lock is held, and is kept no longer.
type arena struct {
	chunks [][]float32
	rows   uint32 // given out so far, free ones included
	free   uint32 // the first free row, plus one; its id is the next, and so on to 0
	freed  uint32 // how many are free
	shift  uint   // log2 of the rows of a chunk
	stride int
}

// isFree is the step of a row that is free.
const isFree = -1

// newArena chooses chunks of 2048 rows, fewer when rows are wide, or when they would be much of all that may be used.
// Large allocations are whole pages of 8 KiB, which 2048 rows fill exactly.
func newArena(stride, limit int) arena {
	shift := uint(11)
	for shift > 4 && stride<<shift > 1<<18 || shift > 0 && 4*stride<<shift > limit/16 {
		shift--
	}
	return arena{shift: shift, stride: stride}
}

func (a *arena) at(row uint32) *header {
	chunk := a.chunks[row>>a.shift]
	return (*header)(unsafe.Pointer(&chunk[int(row&(1<<a.shift-1))*a.stride]))
}

// add returns the number and the place of a new row, which holds anything.
func (a *arena) add() (uint32, *header) {
	if a.free != 0 {
		row := a.free - 1
		h := a.at(row)
		a.free = uint32(h.id)
		a.freed--
		return row, h
	}
	row := a.rows
	if a.full() {
		a.chunks = append(a.chunks, make([]float32, a.stride<<a.shift))
	}
	a.rows++
	return row, a.at(row)
}

// drop makes a row free.
func (a *arena) drop(row uint32, h *header) {
	h.id, h.step = uint64(a.free), isFree
	a.free = row + 1
	a.freed++
}

// full says whether the next row needs a new chunk.
func (a *arena) full() bool { return a.free == 0 && int(a.rows>>a.shift) == len(a.chunks) }

// live is how many rows are in use.
func (a *arena) live() int { return int(a.rows - a.freed) }

// growth is how many bytes a new chunk takes, with its place in the list, which append makes up to twice as long as it
// is.
func (a *arena) growth() int { return (a.stride<<a.shift)*4 + 2*int(unsafe.Sizeof([]float32{})) }

func (a *arena) bytes() int { return len(a.chunks) * a.growth() }
