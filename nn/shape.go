package nn

import (
	"fmt"
	"slices"
)

// The largest sizes of one example's part of a value, or a row of a table, and of a dense parameter.
const (
	maxExample = 1 << 24
	maxDense   = 1 << 31
)

func equalShapes(a, b []int) bool { return slices.Equal(a, b) }

// withRows returns the shape with the number of examples filled in, in the memory of dst.
func withRows(dst, shape []int, rows int) []int {
	dst = append(dst[:0], shape...)
	if len(dst) > 0 && dst[0] == batch {
		dst[0] = rows
	}
	return dst
}

// isSuffix reports whether a's last dimensions equal b, and are fixed.
func isSuffix(a, b []int) bool {
	return len(b) <= len(a) && slices.Equal(a[len(a)-len(b):], b) && !slices.Contains(b, batch)
}

// bounded returns an error for shapes with more elements than the limit.
func bounded(dims []int, limit int) error {
	n := 1
	for _, d := range dims {
		if d > limit/n {
			return fmt.Errorf("shape %s has too many elements, more than %d", shapeString(dims), limit)
		}
		n *= max(d, 1)
	}
	return nil
}
