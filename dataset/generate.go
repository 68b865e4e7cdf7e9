package dataset

import (
	"fmt"
	"slices"
)

// Generate makes a dataset of n rows that are computed on demand: fill sets row i, which is zeros before. fill must
// depend only on i, so that orders, splits and shards are reproducible; it may be called from several goroutines.
func Generate(n int, fill func(i int, row Row) error, columns ...Column) *Dataset {
	d := FromIndexed(&generated{slices.Clone(columns), max(n, 0), fill})
	if n < 0 {
		return d.fail("Generate(%d): want 0 or more rows", n)
	}
	return d
}

type generated struct {
	columns []Column
	n       int
	fill    func(i int, row Row) error
}

func (g *generated) Columns() []Column { return g.columns }
func (g *generated) Len() int          { return g.n }

func (g *generated) Gather(t *Table, rows []int) error {
	for _, i := range rows {
		if err := g.fill(i, t.appendZeros()); err != nil {
			t.truncate(t.rows)
			return fmt.Errorf("dataset: row %d: %w", i, err)
		}
		t.commit()
	}
	return nil
}
