package dataset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
)

// Rename gives a column another name, such as that of its feed.
func (d *Dataset) Rename(column, name string) *Dataset {
	c, err := d.find("Rename", column)
	if err != nil {
		return d.failed(err)
	}
	columns := slices.Clone(d.Columns())
	columns[c].Name = name
	return d.through(change{columns: columns})
}

// Select keeps only these columns, in this order. Files in a format of this package then need not have the fields of
// other columns: lines to be predicted need no valid label.
func (d *Dataset) Select(columns ...string) *Dataset {
	d = d.asking(columns)
	from := make([]int, len(columns))
	kept := make([]Column, len(columns))
	for i, name := range columns {
		c, err := d.find("Select", name)
		if err != nil {
			return d.failed(err)
		}
		from[i], kept[i] = c, d.Columns()[c]
	}
	return d.through(change{kept, nil, func(to, rows *Table) error {
		for i, c := range from {
			to.columns[i].copyRows(&rows.columns[c], 0, rows.Len())
		}
		to.adopt(rows, 0, rows.Len())
		return nil
	}})
}

// asking returns the dataset with only some columns read from its files, if all of them are columns of files.
func (d *Dataset) asking(columns []string) *Dataset {
	f, ok := d.source.(*Files)
	if !ok || d.err != nil || len(columns) == 0 {
		return d
	}
	for _, name := range columns {
		if _, err := d.find("Select", name); err != nil {
			return d
		}
	}
	narrow := *f
	narrow.Format = only(f.Format, columns)
	return d.with(&narrow)
}

// MapFloats replaces each value of a float32 column by f of it, before rows become batches. It is not part of a format:
// if a saved model is to score lines, use [CSVColumn]'s Scale instead.
func (d *Dataset) MapFloats(column string, f func(float32) float32) *Dataset {
	return mapValues(d, "MapFloats", column, f)
}

// MapInts is MapFloats for an int64 column.
func (d *Dataset) MapInts(column string, f func(int64) int64) *Dataset {
	return mapValues(d, "MapInts", column, f)
}

// mapValues maps the values of a column.
func mapValues[T value](d *Dataset, call, column string, f func(T) T) *Dataset {
	c, err := d.find(call, column)
	if err != nil {
		return d.failed(err)
	}
	if d.Columns()[c].kind() != kindOf[T]() {
		return d.fail("%s(%q): the column holds %v", call, column, d.Columns()[c].Type)
	}
	return d.through(change{d.Columns(), func(t *Table, first int) {
		v := &t.columns[c]
		lo, _ := v.span(first)
		values := in[T](v.store)[lo:]
		for i, x := range values {
			values[i] = f(x)
		}
	}, nil})
}

// MapRows replaces every row by a row of the given columns: f sets to, which is zeros before, from the old row. An
// error of f ends the pass, with the file and line of the row. f may be called from several goroutines.
func (d *Dataset) MapRows(f func(from, to Row) error, columns ...Column) *Dataset {
	if err := checkColumns(columns); err != nil {
		return d.failed(err)
	}
	return d.through(change{columns, nil, func(to, rows *Table) error {
		for r := range rows.Len() {
			to.next = to.originFrom(rows, r)
			if err := to.Add(func(row Row) error { return f(Row{rows, r}, row) }); err != nil {
				return fmt.Errorf("dataset: MapRows: %s: %w", cmp.Or(rows.Place(r), "a row"), err)
			}
		}
		return nil
	}})
}

// Filter keeps the rows for which keep is true. Their number is not known in advance, so rows in memory are streamed
// afterwards, until [Dataset.Load].
func (d *Dataset) Filter(keep func(Row) bool) *Dataset { return d.with(&filtered{d.source, keep}) }

func kindOf[T value]() kind {
	switch any(*new(T)).(type) {
	case int64:
		return intKind
	case uint64:
		return idKind
	}
	return floatKind
}

// find returns the number of a column.
func (d *Dataset) find(call, name string) (int, error) {
	columns := d.Columns()
	c := slices.IndexFunc(columns, func(c Column) bool { return c.Name == name })
	if c < 0 && d.err == nil {
		return c, fmt.Errorf("%w %s(%q): unknown column; want one of %s", ErrOption, call, name, columnNames(columns))
	}
	if c < 0 {
		return c, d.err
	}
	return c, nil
}

// change is a function of single rows.
type change struct {
	columns []Column
	inPlace func(t *Table, first int) // changes the rows from first on; may be nil
	// appends the changed rows to a table of other columns; nil if the columns are the same
	copied func(to, rows *Table) error
}

// through returns d with its rows changed.
func (d *Dataset) through(c change) *Dataset {
	next := d.with(&changed{d.source, c})
	if v, ok := d.source.(*view); ok {
		next = d.with(&view{&changedRows{Indexed: v.Indexed, change: c}, v.len, v.order, v.why})
	}
	if err := checkColumns(c.columns); err != nil && next.err == nil {
		next.err = err
	}
	return next
}

// read calls read to append rows to t, and changes them. scratch holds rows whose columns change.
func (c *change) read(t, scratch *Table, read func(t *Table) error) error {
	first := t.Len()
	if c.copied == nil {
		err := read(t)
		if c.inPlace != nil && t.Len() > first {
			c.inPlace(t, first)
		}
		return err
	}
	scratch.Reset()
	err := read(scratch)
	if e := c.copied(t, scratch); err == nil {
		err = e
	}
	return err
}

// changed is a source whose rows are changed.
type changed struct {
	Source
	change
}

func (c *changed) Columns() []Column { return c.columns }

func (c *changed) Open(epoch int) (Reader, error) { return c.OpenContext(context.Background(), epoch) }

func (c *changed) OpenContext(ctx context.Context, epoch int) (Reader, error) {
	r, err := open(ctx, c.Source, epoch)
	if err != nil {
		return nil, err
	}
	return &changedReader{r, &c.change, newTable(c.Source.Columns())}, nil
}

// sharded returns the source with only one worker's rows, if the source can leave out the others.
func sharded(s Source, index, workers int) (mine Source, ok bool) {
	if c, changes := s.(*changed); changes {
		if mine, ok = sharded(c.Source, index, workers); ok {
			mine = &changed{mine, c.change}
		}
		return mine, ok
	}
	if s, ok := s.(interface{ Shard(_, _ int) Source }); ok {
		return s.Shard(index, workers), true
	}
	return nil, false
}

type changedReader struct {
	Reader
	change  *change
	scratch *Table
}

func (r *changedReader) Read(t *Table, n int) (int, error) {
	before := t.Len()
	err := r.change.read(t, r.scratch, func(t *Table) error {
		_, err := r.Reader.Read(t, n)
		return err
	})
	return t.Len() - before, err
}

func (r *changedReader) whyEmpty() string { return whyEmpty(r.Reader) }

// changedRows are rows with random access that are changed.
type changedRows struct {
	Indexed
	change
	scratch sync.Pool // of *Table
}

func (c *changedRows) Columns() []Column { return c.columns }

func (c *changedRows) Gather(t *Table, rows []int) error {
	scratch, ok := c.scratch.Get().(*Table)
	if !ok {
		scratch = newTable(c.Indexed.Columns())
	}
	defer c.scratch.Put(scratch)
	return c.read(t, scratch, func(t *Table) error { return gatherNumbered(c.Indexed, t, rows) })
}

// filtered is a source without some of its rows.
type filtered struct {
	Source
	keep func(Row) bool
}

func (f *filtered) Open(epoch int) (Reader, error) { return f.OpenContext(context.Background(), epoch) }

func (f *filtered) OpenContext(ctx context.Context, epoch int) (Reader, error) {
	r, err := open(ctx, f.Source, epoch)
	if err != nil {
		return nil, err
	}
	return &filteredReader{r, ctx, f.keep, 0}, nil
}

type filteredReader struct {
	Reader
	ctx  context.Context
	keep func(Row) bool
	seen int
}

func (r *filteredReader) Read(t *Table, n int) (int, error) {
	before := t.Len()
	for t.Len() == before {
		if ended := context.Cause(r.ctx); ended != nil {
			return 0, fmt.Errorf("dataset: Filter: after %d rows: %w", r.seen, ended)
		}
		got, err := r.Reader.Read(t, n)
		t.keep(before, func(i int) bool { return r.keep(Row{t, before + i}) })
		if r.seen += got; err != nil {
			return t.Len() - before, err
		}
	}
	return t.Len() - before, nil
}

func (r *filteredReader) whyEmpty() string {
	if r.seen == 0 {
		return whyEmpty(r.Reader)
	}
	return fmt.Sprintf("Filter leaves none of %d rows", r.seen)
}
