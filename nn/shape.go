package nn

import "slices"

func equalShapes(a, b []int) bool { return slices.Equal(a, b) }

// withRows is the shape with the number of examples filled in, in the memory of dst.
func withRows(dst, shape []int, rows int) []int {
	dst = append(dst[:0], shape...)
	if len(dst) > 0 && dst[0] == batch {
		dst[0] = rows
	}
	return dst
}

// isSuffix says whether a shape's last dimensions are those of b, and fixed.
func isSuffix(a, b []int) bool {
	return len(b) <= len(a) && slices.Equal(a[len(a)-len(b):], b) && !slices.Contains(b, batch)
}
