package dataset

import "slices"

// Row is a row of a [Table] while it is written. It is valid until the function that was given it returns.
type Row struct {
	table *Table
}

// Floats are the row's values of fixed float32 column c, to be set; they begin as zeros.
func (r Row) Floats(c int) []float32 {
	v := &r.table.columns[c]
	return v.floats[len(v.floats)-v.width:]
}

// Ints are the row's values of fixed int64 column c, to be set; they begin as zeros.
func (r Row) Ints(c int) []int64 {
	v := &r.table.columns[c]
	return v.ints[len(v.ints)-v.width:]
}

// AppendFloat adds a value to varying float32 column c.
func (r Row) AppendFloat(c int, x float32) {
	v := &r.table.columns[c]
	v.floats = append(v.floats, x)
}

// AppendInt adds a value to varying int64 column c.
func (r Row) AppendInt(c int, x int64) {
	v := &r.table.columns[c]
	v.ints = append(v.ints, x)
}

// begin starts a row of zeros after the last one; commit or truncate must follow.
func (t *Table) begin() Row {
	for c := range t.columns {
		v := &t.columns[c]
		if v.isFloat() {
			v.floats = zeros(v.floats, v.width)
		} else {
			v.ints = zeros(v.ints, v.width)
		}
	}
	return Row{t}
}

// commit makes the row that was begun part of the table.
func (t *Table) commit() {
	for c := range t.columns {
		t.columns[c].close()
	}
	t.rows++
}

// zeros appends n zeros to s.
func zeros[T float32 | int64](s []T, n int) []T {
	s = slices.Grow(s, n)[:len(s)+n]
	clear(s[len(s)-n:])
	return s
}
