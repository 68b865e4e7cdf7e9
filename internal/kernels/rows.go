package kernels

import "fmt"

// GatherRows writes row index[i] of src to row i of dst, for every i. Rows have dim elements; dst has len(index) of
// them. dst and src must not be the same.
func GatherRows(dst, src []float32, dim int, index []int32) {
	checkLen("GatherRows", "dst", len(dst), dim*len(index))
	checkIndex("GatherRows", len(src), dim, index)
	active.gather(dst, src, dim, index)
}

// CopyRuns copies count runs of size elements, which begin from elements apart in src, and to elements apart in dst.
// dst and src must not overlap.
func CopyRuns(dst []float32, to int, src []float32, from, count, size int) {
	if count < 1 || size < 1 {
		return
	}
	checkRuns("CopyRuns", "dst", len(dst), to, count, size)
	checkRuns("CopyRuns", "src", len(src), from, count, size)
	active.copyPanel(dst, to, src, from, size, count)
}

// checkRuns panics unless count runs of size elements, step elements apart, lie in n elements.
func checkRuns(op, name string, n, step, count, size int) {
	if step < 0 || (count-1)*step > n-size {
		panic(fmt.Sprintf("kernels: %s: %s has %d elements, too few for %d runs of %d, %d apart", op, name, n, count,
			size, step))
	}
}

// ScatterAddRows adds row i of src to row index[i] of dst, in the order of i, so that the result is always the same.
// Rows have dim elements; src has len(index) of them. dst and src must not be the same.
func ScatterAddRows(dst, src []float32, dim int, index []int32) {
	checkLen("ScatterAddRows", "src", len(src), dim*len(index))
	checkIndex("ScatterAddRows", len(dst), dim, index)
	active.scatter(dst, src, dim, index)
}

// checkIndex panics unless every index is a row of a table with n elements, dim a row.
func checkIndex(op string, n, dim int, index []int32) {
	checkRows(op, n, dim)
	rows := uint32(0)
	if n > 0 {
		rows = uint32(n / dim)
	}
	for i, r := range index {
		if uint32(r) >= rows {
			panic(fmt.Sprintf("kernels: %s: index[%d] is row %d of %d", op, i, r, rows))
		}
	}
}

func gather(dst, src []float32, dim int, index []int32) {
	for i, r := range index {
		copy(dst[i*dim:(i+1)*dim], src[int(r)*dim:])
	}
}

func scatter(dst, src []float32, dim int, index []int32) {
	for i, r := range index {
		to := dst[int(r)*dim:][:dim]
		for j, v := range src[i*dim:][:dim] {
			to[j] += v
		}
	}
}
