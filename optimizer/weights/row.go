package weights

import (
	"fmt"
)

// Row is one row of an embedding.
type Row struct {
	ID uint64
	W  []float32 // valid until the next row
}

// maxDim bounds the numbers of a row, so that a damaged file can't ask for all memory.
const maxDim = 1 << 22

// checkDim says what is wrong with a width that a file claims.
func checkDim(dim int) error {
	if dim < 1 || dim > maxDim {
		return fmt.Errorf("rows of %d numbers: between 1 and %d are possible", dim, maxDim)
	}
	return nil
}
