package placement

import (
	"math/bits"
	"slices"
	"strconv"
)

// DefaultMinBlockSize is the smallest block, in elements, that a variable is cut into: 32 KiB of float32.
const DefaultMinBlockSize = 8192

// Block is a run of whole rows of one variable, the unit that a server owns.
type Block struct {
	// Var is the variable's name.
	Var string
	// Index is the block's number in its variable, from 0.
	Index int
	// Name is Var when the variable has one block, otherwise Var + ".block" + Index.
	Name string
	// Offset and Size are elements of the flat, row-major variable.
	Offset, Size int
	// Shape is the block's own: its number of rows, then the variable's other dimensions.
	Shape []int
}

// Bytes is the room that the block's float32 elements take.
func (b Block) Bytes() int64 { return 4 * int64(b.Size) }

// Width is the number of elements in a row: the product of all dimensions but the first.
func (b Block) Width() int { return width(b.Shape) }

// Rows are the first row of the variable that the block holds and the one after its last.
func (b Block) Rows() (first, end int) {
	w := b.Width()
	return b.Offset / w, (b.Offset + b.Size) / w
}

// Slice cuts a variable into at most slices blocks of at least minBlockSize elements (0 means [DefaultMinBlockSize]).
//
// The variable is divided by as many blocks as allowed, k = min(slices, floor(elements/minBlockSize)) but at least 1; a
// block gets ceil(elements/k) elements, rounded up to whole rows, and the last one what remains. Rounding can leave
// fewer blocks than k. Because k is rounded down, cutting starts at 2·minBlockSize elements.
//
// A shape with a dimension below 1, or with more elements than an int counts, has no blocks.
func Slice(name string, shape []int, slices, minBlockSize int) []Block {
	total, ok := elements(shape)
	if !ok {
		return nil
	}
	if minBlockSize < 1 {
		minBlockSize = DefaultMinBlockSize
	}
	size := blockSize(total, width(shape), slices, minBlockSize)
	blocks := make([]Block, ceilDiv(total, size))
	for i := range blocks {
		blocks[i] = cut(name, shape, i, i*size, min(size, total-i*size))
	}
	if len(blocks) == 1 {
		blocks[0].Name = name
	}
	return blocks
}

// blockSize is the size of every block but the last.
func blockSize(total, width, slices, minBlockSize int) int {
	k := max(1, min(slices, total/minBlockSize))
	return ceilDiv(ceilDiv(total, k), width) * width
}

func cut(name string, shape []int, index, offset, size int) Block {
	own := slices.Clone(shape)
	if len(own) > 0 {
		own[0] = size / width(shape)
	}
	return Block{
		Var:    name,
		Index:  index,
		Name:   name + ".block" + strconv.Itoa(index),
		Offset: offset,
		Size:   size,
		Shape:  own,
	}
}

// width is the number of elements in one row; a vector's rows, and a scalar, are one element.
func width(shape []int) int {
	w := 1
	for _, d := range shape[min(1, len(shape)):] {
		w *= d
	}
	return w
}

// elements is the product of the dimensions; not ok if one is below 1 or the product does not fit.
func elements(shape []int) (n int, ok bool) {
	n = 1
	for _, d := range shape {
		if d < 1 {
			return 0, false
		}
		hi, lo := bits.Mul(uint(n), uint(d))
		if hi != 0 || int(lo) < 0 {
			return 0, false
		}
		n = int(lo)
	}
	return n, true
}

// ceilDiv is a/b rounded up, for positive a and b, without the overflow of (a+b-1)/b.
func ceilDiv(a, b int) int {
	q := a / b
	if a%b != 0 {
		q++
	}
	return q
}
