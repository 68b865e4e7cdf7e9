package state

import (
	"errors"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/table"
)

// TestEachBlock: a span of dense values lies in all blocks that it touches, in their order, up to the first that fails.
func TestEachBlock(t *testing.T) {
	p := &Part{Store: new(table.Store)}
	for _, b := range []layout.Block{{At: 0, Size: 4}, {At: 4, Size: 2}, {At: 6, Size: 3}} {
		p.blocks = append(p.blocks, b)
		p.Store.Blocks = append(p.Store.Blocks, table.Block{Values: table.NewDense(b.Size, nil)})
	}
	full := errors.New("full")
	for _, c := range []struct {
		from, to int
		fails    int // at which block
		want     [][3]int
	}{
		{0, 9, -1, [][3]int{{0, 0, 4}, {0, 4, 6}, {0, 6, 9}}},
		{3, 7, -1, [][3]int{{3, 0, 1}, {0, 1, 3}, {0, 3, 4}}},
		{4, 6, -1, [][3]int{{0, 0, 2}}},
		{5, 5, -1, nil},
		{0, 9, 1, [][3]int{{0, 0, 4}, {0, 4, 6}}},
	} {
		var got [][3]int
		err := p.EachBlock(c.from, c.to, func(d *table.Dense, at, lo, hi int) error {
			if got = append(got, [3]int{at, lo, hi}); len(got)-1 == c.fails {
				return full
			}
			return nil
		})
		if !slices.Equal(got, c.want) || (err != nil) != (c.fails >= 0) {
			t.Errorf("[%d, %d): %v, %v, want %v", c.from, c.to, got, err, c.want)
		}
	}
}
