package dataset

// Row is a row of a [Table] while it is written. It is valid until the function that was given it returns.
type Row struct {
	table *Table
}

// Floats are the row's values of fixed float32 column c, to be set; they begin as zeros.
func (r Row) Floats(c int) []float32 {
	return last(in[float32](r.table.columns[c].store), r.table.columns[c].width)
}

// Ints are the row's values of fixed int64 column c, to be set; they begin as zeros.
func (r Row) Ints(c int) []int64 {
	return last(in[int64](r.table.columns[c].store), r.table.columns[c].width)
}

// IDs are the row's ids of fixed uint64 column c, to be set; they begin as zeros.
func (r Row) IDs(c int) []uint64 {
	return last(in[uint64](r.table.columns[c].store), r.table.columns[c].width)
}

// AppendFloat adds a value to varying float32 column c.
func (r Row) AppendFloat(c int, x float32) {
	v := r.table.columns[c].store.(*cells[float32])
	v.v = append(v.v, x)
}

// AppendInt adds a value to varying int64 column c.
func (r Row) AppendInt(c int, x int64) {
	v := r.table.columns[c].store.(*cells[int64])
	v.v = append(v.v, x)
}

// AppendID adds an id to varying uint64 column c.
func (r Row) AppendID(c int, x uint64) {
	v := r.table.columns[c].store.(*cells[uint64])
	v.v = append(v.v, x)
}

// last is the last n values.
func last[T any](v []T, n int) []T { return v[len(v)-n:] }

// begin starts a row of zeros after the last one; commit or truncate must follow.
func (t *Table) begin() Row {
	for c := range t.columns {
		t.columns[c].zeros(t.columns[c].width)
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
