package optimizer

import (
	"fmt"
	"hash/fnv"
	"math"
)

// Assign returns an initializer with given values: all elements of a dense param, or all rows of an embedding with a
// height, one after another. The values are not copied.
func Assign(values []float32) Initializer {
	h := fnv.New64a()
	var b [4]byte
	for _, v := range values {
		u := math.Float32bits(v)
		b = [4]byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)}
		h.Write(b[:])
	}
	return assigned{values: &values, sum: h.Sum64()}
}

type assigned struct {
	values *[]float32
	sum    uint64
}

// Fill implements [Initializer]; if w is longer than the values, the rest is zero.
func (a assigned) Fill(w []float32, _ uint64) { clear(w[copy(w, *a.values):]) }

// FillRow is an optional method of [Initializer]; a row beyond the values is zero.
func (a assigned) FillRow(w []float32, id uint64) {
	if id >= uint64(len(*a.values)/len(w)) {
		clear(w)
		return
	}
	copy(w, (*a.values)[int(id)*len(w):])
}

// Given is an optional method of [Initializer]: later rows are zeros.
func (a assigned) Given(dim int) int { return (len(*a.values) + dim - 1) / dim }

// String returns length and checksum, so that processes can compare their values.
func (a assigned) String() string {
	return fmt.Sprintf("{%d values, sum %016x}", len(*a.values), a.sum)
}
