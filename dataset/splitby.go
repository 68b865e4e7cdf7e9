package dataset

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// SplitLast divides rows in memory by a column with one value per row, such as a time: the first gets the rows with
// smaller values, about ratio of all, and the second the rest. Rows with equal values are never on both sides. NaN is
// smaller than any number. As with [Dataset.Split], the parts keep the order of rows at the call.
func (d *Dataset) SplitLast(column string, ratio float64) (first, second *Dataset) {
	name := fmt.Sprintf("SplitLast(%q, %v)", column, ratio)
	return d.splitBy(name, column, ratio, func(t *Table) (isFirst []bool, err error) {
		switch c := t.columns[0]; {
		case c.width != 1:
			return nil, fmt.Errorf("%w %s: the column has %s values a row: want one", ErrOption, name,
				widthText(c.Column))
		case c.kind() == floatKind:
			return below(t.Floats(0), ratio), nil
		case c.kind() == idKind:
			return below(t.IDs(0), ratio), nil
		}
		return below(t.Ints(0), ratio), nil
	})
}

func widthText(c Column) string {
	if c.Varying {
		return "any number of"
	}
	return fmt.Sprint(c.Width())
}

// below reports of each value whether it is smaller than the one with ratio of all values below it.
func below[T cmp.Ordered](values []T, ratio float64) []bool {
	sorted := slices.Sorted(slices.Values(values))
	begin, is := int(math.Round(ratio*float64(len(values)))), make([]bool, len(values))
	for i, x := range values {
		is[i] = begin == len(values) || cmp.Less(x, sorted[begin])
	}
	return is
}

// SplitGroups divides the rows at random into two datasets and keeps rows with the same values in a column, such as a
// user's, together: a group goes to the first with probability ratio. The choice is a function only of seed and these
// values, so streamed rows and rows of other files are divided in the same way.
func (d *Dataset) SplitGroups(column string, ratio float64, seed uint64) (first, second *Dataset) {
	name := fmt.Sprintf("SplitGroups(%q, %v, %d)", column, ratio, seed)
	mine := func(r Row, c int) bool { return unit(mix(seed^r.hash(c))) < ratio }
	if _, memory := d.source.(*view); memory || d.err != nil || badRatio(ratio) {
		return d.splitBy(name, column, ratio, func(t *Table) ([]bool, error) {
			is := make([]bool, t.Len())
			for i := range is {
				is[i] = mine(Row{t, i}, 0)
			}
			return is, nil
		})
	}
	c, err := d.find("SplitGroups", column)
	if err != nil {
		return d.failed(err), d.failed(err)
	}
	d = d.fixed()
	return d.Filter(func(r Row) bool { return mine(r, c) }), d.Filter(func(r Row) bool { return !mine(r, c) })
}

// hash returns a hash of all values of a column in the row.
func (r Row) hash(c int) (h uint64) {
	switch r.table.columns[c].kind() {
	case floatKind:
		for _, x := range r.Floats(c) {
			h = mix(h ^ uint64(math.Float32bits(x+0))) // −0 becomes 0
		}
	case idKind:
		for _, x := range r.IDs(c) {
			h = mix(h ^ x)
		}
	default:
		for _, x := range r.Ints(c) {
			h = mix(h ^ uint64(x))
		}
	}
	return h
}

func badRatio(ratio float64) bool { return !(ratio >= 0 && ratio <= 1) }

// splitBy divides rows in memory by the result of is for a table of the column, in the order of the rows.
func (d *Dataset) splitBy(name, column string, ratio float64, is func(t *Table) ([]bool, error)) (
	first, second *Dataset) {
	if badRatio(ratio) {
		d = d.fail("%s: want a ratio between 0 and 1", name)
	}
	if _, memory := d.source.(*view); !memory {
		d = d.fail("%s: rows stream by; call Load first", name)
	}
	d = d.fixed()
	t, err := d.Select(column).Table(context.Background())
	if err != nil {
		return d.failed(err), d.failed(err)
	}
	mine, err := is(t)
	if err != nil {
		return d.failed(err), d.failed(err)
	}
	return d.choose(selection{"the first part of " + name, func(i int) bool { return mine[i] }, endless}),
		d.choose(selection{"the second part of " + name, func(i int) bool { return !mine[i] }, endless})
}
