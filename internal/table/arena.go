package table

import "unsafe"

// arena holds rows by number in chunks that never move. The memory of a dropped row is used for the next new row.
//
// Chunks are slices of float32 without pointers, so that the garbage collector skips gigabytes of rows. For that reason
// free rows are chained through their own headers, by number, and a header lies in floats and is accessed through
// unsafe. A pointer to a header is valid only while the shard's lock is held.
type arena struct {
	chunks [][]float32
	rows   uint32 // allocated so far, free ones included
	free   uint32 // the first free row, plus one; the id of a free row is the next one, 0 the end
	freed  uint32 // number of free rows
	shift  uint   // log2 of the rows in a chunk
	stride int
}

// isFree is the step in the header of a free row.
const isFree = -1

// newArena chooses chunks of 2048 rows, and fewer if rows are wide, or if a chunk would be much of the most rows. Large
// allocations are whole pages of 8 KiB, which 2048 rows fill exactly.
func newArena(stride int, most int64) arena {
	shift := uint(11)
	for shift > 4 && stride<<shift > 1<<18 || shift > 0 && 32<<shift > most {
		shift--
	}
	return arena{shift: shift, stride: stride}
}

func (a *arena) at(row uint32) *header {
	chunk := a.chunks[row>>a.shift]
	return (*header)(unsafe.Pointer(&chunk[int(row&(1<<a.shift-1))*a.stride]))
}

// add returns the number and the place of a new row, whose contents are undefined.
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

// hasRoom reports whether another row can be numbered.
func (a *arena) hasRoom() bool { return a.free != 0 || a.rows < mostRows }

// drop makes a row free.
func (a *arena) drop(row uint32, h *header) {
	h.id, h.step = uint64(a.free), isFree
	a.free = row + 1
	a.freed++
}

// full reports whether the next row needs a new chunk.
func (a *arena) full() bool { return a.free == 0 && int(a.rows>>a.shift) == len(a.chunks) }

// live is the number of rows in use.
func (a *arena) live() int { return int(a.rows - a.freed) }

// growth is the size of a new chunk in bytes, with its place in the list, which append makes up to twice as long as
// needed.
func (a *arena) growth() int { return (a.stride<<a.shift)*4 + 2*int(unsafe.Sizeof([]float32{})) }

func (a *arena) bytes() int { return len(a.chunks) * a.growth() }
