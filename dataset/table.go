package dataset

import (
	"fmt"
)

// Table holds rows in memory, column by column. A [Reader] appends to it. It is not safe for concurrent use.
type Table struct {
	columns []values
	rows    int
	origins
}

// values is one column of a table; for a varying column also the end of each row.
type values struct {
	Column
	store
	width   int
	offsets []int64 // of a varying column: rows+1 of them, the first 0
}

// NewTable returns an empty table of these columns.
func NewTable(columns ...Column) (*Table, error) {
	if err := checkColumns(columns); err != nil {
		return nil, err
	}
	return newTable(columns), nil
}

func newTable(columns []Column) *Table {
	t := &Table{columns: make([]values, len(columns))}
	for i, c := range columns {
		t.columns[i] = values{Column: c, store: newStore(c.Type), width: c.Width()}
		if c.Varying {
			t.columns[i].offsets = []int64{0}
		}
	}
	return t
}

// Len is the number of rows.
func (t *Table) Len() int { return t.rows }

// Columns describes the table's columns, in order.
func (t *Table) Columns() []Column {
	out := make([]Column, len(t.columns))
	for i := range t.columns {
		out[i] = t.columns[i].Column
	}
	return out
}

// Floats returns all values of float32 column c, row by row; nil if the column has another type. The slice belongs to
// the table.
func (t *Table) Floats(c int) []float32 { return in[float32](t.columns[c].store) }

// Ints returns all values of int64 column c, row by row; nil if the column has another type. The slice belongs to the
// table.
func (t *Table) Ints(c int) []int64 { return in[int64](t.columns[c].store) }

// IDs returns all ids of uint64 column c, row by row; nil if the column has another type. The slice belongs to the
// table.
func (t *Table) IDs(c int) []uint64 { return in[uint64](t.columns[c].store) }

// Add appends a row of zeros and lets fill set it. If fill returns an error, the row is removed, and Add returns the
// error.
func (t *Table) Add(fill func(Row) error) error {
	if err := fill(t.appendZeros()); err != nil {
		t.truncate(t.rows)
		return err
	}
	t.commit()
	return nil
}

// Append copies these rows of src, which has the same columns, to the end of t.
func (t *Table) Append(src *Table, rows ...int) error {
	if len(src.columns) != len(t.columns) {
		return fmt.Errorf("%w: a table of %d columns can't be appended to one of %d", ErrColumn, len(src.columns),
			len(t.columns))
	}
	for c := range t.columns {
		a, b := t.columns[c].Column, src.columns[c].Column
		if a.Type != b.Type || a.Varying != b.Varying || a.Width() != b.Width() {
			return fmt.Errorf("%w %q: it differs between the two tables", ErrColumn, a.Name)
		}
	}
	t.gather(src, rows)
	return nil
}

// isRun reports whether each row is the next after the one before it.
func isRun(rows []int) bool {
	for i, r := range rows {
		if r != rows[0]+i {
			return false
		}
	}
	return len(rows) > 0
}

// gather appends rows of a table with the same columns.
func (t *Table) gather(src *Table, rows []int) {
	if isRun(rows) {
		t.gatherRun(src, rows[0], rows[0]+len(rows))
		return
	}
	for c := range t.columns {
		t.columns[c].gather(&src.columns[c], rows)
	}
	for i, r := range rows {
		t.add(t.rows+i, t.originFrom(src, r))
	}
	t.rows += len(rows)
}

// gatherRun appends the rows from lo to below hi of a table with the same columns.
func (t *Table) gatherRun(src *Table, lo, hi int) {
	for c := range t.columns {
		t.columns[c].copyRows(&src.columns[c], lo, hi)
	}
	t.adopt(src, lo, hi)
}

// Reset drops all rows and keeps their memory for reuse.
func (t *Table) Reset() { t.truncate(0) }

// truncate keeps the first n rows and drops a row that was begun after them.
func (t *Table) truncate(n int) {
	for c := range t.columns {
		t.columns[c].truncate(n)
	}
	t.drop(n)
	t.rows = n
}

// keep drops the rows from first on for which ok(0), ok(1), … is false.
func (t *Table) keep(first int, ok func(i int) bool) {
	to := first
	for r := first; r < t.rows; r++ {
		if !ok(r - first) {
			continue
		}
		if to != r {
			for c := range t.columns {
				t.columns[c].moveRow(to, r)
			}
			t.move(to, r)
		}
		to++
	}
	t.truncate(to)
}

// reserve makes room for n rows of the fixed columns.
func (t *Table) reserve(n int) {
	for c := range t.columns {
		t.columns[c].grow(n * t.columns[c].width)
	}
}

// span returns the range of row r in the store.
func (v *values) span(r int) (lo, hi int) {
	if v.Varying {
		return int(v.offsets[r]), int(v.offsets[r+1])
	}
	return r * v.width, (r + 1) * v.width
}

// close ends the row being written.
func (v *values) close() {
	if v.Varying {
		v.offsets = append(v.offsets, int64(v.len()))
	}
}

// gather appends rows.
func (v *values) gather(from *values, rows []int) {
	if !v.Varying {
		v.pick(from.store, rows, v.width)
		return
	}
	for _, r := range rows {
		lo, hi := from.span(r)
		v.append(from.store, lo, hi)
		v.close()
	}
}

// copyRows appends the rows from lo to below hi.
func (v *values) copyRows(from *values, lo, hi int) {
	if lo == hi {
		return
	}
	first, _ := from.span(lo)
	_, end := from.span(hi - 1)
	shift := int64(v.len() - first)
	v.append(from.store, first, end)
	for r := lo; v.Varying && r < hi; r++ {
		v.offsets = append(v.offsets, from.offsets[r+1]+shift)
	}
}

// moveRow moves row r to the place of an earlier row, to, which begins where the row before it ends.
func (v *values) moveRow(to, r int) {
	lo, hi := v.span(r)
	at, _ := v.span(to)
	v.move(at, lo, hi)
	if v.Varying {
		v.offsets[to+1] = int64(at + hi - lo)
	}
}

func (v *values) truncate(rows int) {
	end := rows * v.width
	if v.Varying {
		v.offsets = v.offsets[:rows+1]
		end = int(v.offsets[rows])
	}
	v.store.truncate(end)
}
