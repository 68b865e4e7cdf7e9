package train

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/gofleet/gofleet/dataset"
)

// parting groups rows by the value of a field: it returns that of each row of a table.
type parting func(rows *dataset.Table) (valueOf func(row int) string)

// parted returns a format whose rows are grouped by a field, in a column of its own if they have schemas, and what
// groups them. An empty field changes nothing.
func parted(f dataset.Format, by string) (with dataset.Format, column string, of parting, err error) {
	var textOf func(number int64) string
	if with, column = f, by; lined(f).Schema != nil && by != "" {
		column = "-by " + by
		with, textOf, err = dataset.WithTexts(f, by, column)
	}
	var columns []dataset.Column
	if err == nil {
		columns, err = with.Columns()
	}
	is := func(c dataset.Column) bool { return c.Name == column }
	at := slices.IndexFunc(columns, is)
	if err == nil && by != "" && (at < 0 || columns[at].Varying || columns[at].Width() != 1) {
		err = fmt.Errorf("train: -by=%s: rows of %T have no column of that name with one number a row", by, f)
	}
	return with, column, func(rows *dataset.Table) func(row int) string {
		at := slices.IndexFunc(rows.Columns(), is)
		ints, ids, floats := rows.Ints(at), rows.IDs(at), rows.Floats(at)
		return func(row int) string {
			switch {
			case textOf != nil:
				return textOf(ints[row])
			case ints != nil:
				return fmt.Sprint(ints[row])
			case ids != nil:
				return fmt.Sprint(ids[row])
			}
			return fmt.Sprint(floats[row])
		}
	}, err
}

// valued are the numbers of rows by the value of a field.
type valued map[string][]int

func (of parting) valued(rows *dataset.Table) valued {
	valueOf, all := of(rows), valued{}
	for row := range rows.Len() {
		value := valueOf(row)
		all[value] = append(all[value], row)
	}
	return all
}

// count is the number of rows by value.
func (g valued) count() map[string]int {
	all := map[string]int{}
	for value, rows := range g {
		all[value] = len(rows)
	}
	return all
}

// commonest is the number of values of a field that are reported; the rows of all others are one group.
const commonest = 20

// divide are the rows with each of the values, and last all others.
func (g valued) divide(told []string) (all [][]int) {
	var others []int
	for _, value := range told {
		all = append(all, g[value])
	}
	for value, rows := range g {
		if !slices.Contains(told, value) {
			others = append(others, rows...)
		}
	}
	slices.Sort(others)
	return append(all, others)
}

// most are the n values with the most rows, these first.
func most(count map[string]int, n int) []string {
	all := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	return all[:min(len(all), n)]
}

// rowsOf are rows of a table, by number.
func rowsOf(t *dataset.Table, numbers []int) *dataset.Dataset {
	return dataset.FromIndexed(numbered{t, numbers})
}

type numbered struct {
	*dataset.Table
	rows []int
}

// Len implements dataset.Indexed.
func (n numbered) Len() int { return len(n.rows) }

// Gather implements dataset.Indexed.
func (n numbered) Gather(t *dataset.Table, at []int) error {
	rows := make([]int, len(at))
	for i, k := range at {
		rows[i] = n.rows[k]
	}
	return t.Append(n.Table, rows...)
}
