// Package digits is 10,000 handwritten digits of MNIST, in the program itself: 8,000 to learn from, 2,000 held back.
//
//	train, test, err := digits.Load()
//	for batch, err := range train.Shuffle(1).Batches(64) { … }
package digits

import (
	"embed"

	"github.com/gofleet/gofleet/dataset"
)

//go:embed *.gz
var files embed.FS

// Load returns the 8,000 and the 2,000 digits. Rows are img [N,1,28,28] float32, x/127.5 − 1 (−1 paper, 1 ink), and
// label [N,1] int64, 0 to 9.
func Load() (train, test *dataset.Dataset, err error) { return dataset.MNIST(files) }
