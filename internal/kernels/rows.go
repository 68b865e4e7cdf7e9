package kernels

import "fmt"

// GatherRows writes row index[i] of src to row i of dst, for every i. Rows have dim elements; dst has len(index) of them.
// dst and src must not be the same.
func GatherRows(dst, src []float32, dim int, index []int32) {
	checkLen("GatherRows", "dst", len(dst), dim*len(index))
	checkRows("GatherRows", len(src), dim)
	for i, r := range index {
		copy(dst[i*dim:(i+1)*dim], row("GatherRows", src, dim, r))
	}
}

// ScatterAddRows adds row i of src to row index[i] of dst, in the order of i, so that the result is always the same. Rows have
// dim elements; src has len(index) of them. dst and src must not be the same.
func ScatterAddRows(dst, src []float32, dim int, index []int32) {
	checkLen("ScatterAddRows", "src", len(src), dim*len(index))
	checkRows("ScatterAddRows", len(dst), dim)
	for i, r := range index {
		to := row("ScatterAddRows", dst, dim, r)
		for j, v := range src[i*dim : (i+1)*dim] {
			to[j] += v
		}
	}
}

func row(op string, table []float32, dim int, r int32) []float32 {
	from := int(r) * dim
	if r < 0 || from+dim > len(table) {
		panic(fmt.Sprintf("kernels: %s: row %d of a table of %d elements, %d a row", op, r, len(table), dim))
	}
	return table[from : from+dim : from+dim]
}
