package dataset

// Row is a row of a [Table] that is being written or read. It is valid until the function to which it was passed
// returns. In a varying column it has the values added so far.
type Row struct {
	table *Table
	row   int
}

// Floats returns the row's values of fixed float32 column c, to be set; they are zeros before.
func (r Row) Floats(c int) []float32 { return valuesOf[float32](r, c) }

// Ints returns the row's values of fixed int64 column c, to be set; they are zeros before.
func (r Row) Ints(c int) []int64 { return valuesOf[int64](r, c) }

// IDs returns the row's ids of fixed uint64 column c, to be set; they are zeros before.
func (r Row) IDs(c int) []uint64 { return valuesOf[uint64](r, c) }

// AppendFloat adds a value to varying float32 column c.
func (r Row) AppendFloat(c int, x float32) { appendTo(r, c, x) }

// AppendInt adds a value to varying int64 column c.
func (r Row) AppendInt(c int, x int64) { appendTo(r, c, x) }

// AppendID adds an id to varying uint64 column c.
func (r Row) AppendID(c int, x uint64) { appendTo(r, c, x) }

func valuesOf[T value](r Row, c int) []T {
	column := &r.table.columns[c]
	lo, hi := r.row*column.width, (r.row+1)*column.width
	v := in[T](column.store)
	if column.Varying {
		lo, hi = int(column.offsets[r.row]), len(v)
		if r.row < r.table.rows {
			hi = int(column.offsets[r.row+1])
		}
	}
	return v[lo:hi]
}

func appendTo[T value](r Row, c int, x T) {
	v := r.table.columns[c].store.(*cells[T])
	v.v = append(v.v, x)
}

// appended is the place of a value that is appended to a varying column.
const appended = -1

// place sets a value of fixed column c, or appends one to a varying column if at is appended.
func place[T value](r Row, c, at int, x T) {
	if at == appended {
		appendTo(r, c, x)
		return
	}
	column := &r.table.columns[c]
	column.store.(*cells[T]).v[r.row*column.width+at] = x
}

// appendZeros starts a row of zeros after the last one; commit or truncate must follow.
func (t *Table) appendZeros() Row {
	for c := range t.columns {
		t.columns[c].zeros(t.columns[c].width)
	}
	return Row{t, t.rows}
}

// commit makes the begun row part of the table.
func (t *Table) commit() {
	for c := range t.columns {
		t.columns[c].close()
	}
	t.add(t.rows, t.next)
	t.rows++
}
