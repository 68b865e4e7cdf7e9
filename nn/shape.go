package nn

import (
	"fmt"
	"slices"
)

// maxElements bounds what one example's part of a value may hold, and what a dense parameter may.
const maxElements = 1 << 31

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

// bounded refuses shapes whose elements nobody can hold or count. The first dimension of a table is not counted.
func bounded(shape []int) error {
	n := 1
	for _, d := range shape[min(1, len(shape)):] {
		if d > maxElements/n {
			return fmt.Errorf("shape %s has too many elements", shapeString(shape))
		}
		n *= max(d, 1)
	}
	return nil
}
