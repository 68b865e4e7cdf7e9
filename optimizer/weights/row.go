package weights

import (
	"errors"
	"fmt"
	"iter"

	"github.com/gofleet/gofleet/optimizer"
)

// Row is one row of an embedding.
type Row struct {
	ID uint64
	W  []float32 // valid until the next row
}

// RowsOf iterates over the rows that a param begins with, such as those of a model read by serve.Load, which may be a
// base with its deltas.
//
//	for _, p := range nn.Inference(model.Outputs...).Params() {
//		if p.Embedding {
//			err = weights.WriteNPZ(file, p.Name, weights.RowsOf(p.Rows))
//		}
//	}
func RowsOf(s optimizer.RowSource) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		err := s.EachRow(func(ids []uint64, w []float32) error { return eachOf(ids, w, yield) })
		if err != nil && !errors.Is(err, errEnough) {
			yield(Row{}, err)
		}
	}
}

// eachOf yields rows that are stored one after the other, until the consumer stops.
func eachOf(ids []uint64, w []float32, yield func(Row, error) bool) error {
	for i, id := range ids {
		dim := len(w) / len(ids)
		if !yield(Row{id, w[i*dim:][:dim]}, nil) {
			return errEnough
		}
	}
	return nil
}

// errEnough ends an iteration over rows.
var errEnough = errors.New("no more rows are wanted")

// maxDim bounds the numbers of a row, so that a damaged file can't ask for all memory.
const maxDim = 1 << 22

// checkDim returns what is wrong with a width in a file, or nil.
func checkDim(dim int) error {
	if dim < 1 || dim > maxDim {
		return fmt.Errorf("rows of %d numbers: between 1 and %d are possible", dim, maxDim)
	}
	return nil
}
