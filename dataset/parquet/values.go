package parquet

import (
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// values are the values of a column of a row group, one after the other.
type values struct {
	pages  parquet.Pages
	page   parquet.Page
	reader parquet.ValueReader // of the page; nil between two pages
	buffer [128]parquet.Value
	at, n  int

	hashed     bool               // the values are hashed, so ids of a dictionary are kept
	dictionary parquet.Dictionary // of the last page with a dictionary
	entries    []int64            // the ids of its entries, as far as known
	ids        []int64            // entries; nil if the page has no dictionary
	indexes    []int32            // in the dictionary, of the values other than null
	set        int                // values of the page so far, without nulls
}

// unknown is the id of an entry that was not hashed yet.
const unknown = -1

// peek returns the next value, which is valid until the following one is read; io.EOF after the last.
func (v *values) peek() (*parquet.Value, error) {
	for v.at == v.n {
		if err := v.read(); err != nil {
			return nil, err
		}
	}
	return &v.buffer[v.at], nil
}

// read reads some values of the page, or continues with the next page.
func (v *values) read() error {
	if v.reader == nil {
		page, err := v.pages.ReadPage()
		if err != nil {
			return err
		}
		v.page, v.reader, v.set = page, page.Values(), 0
		v.lookUp(page)
	}
	n, err := v.reader.ReadValues(v.buffer[:])
	v.at, v.n = 0, n
	if n == 0 && err == io.EOF {
		v.drop()
		return nil
	}
	if n == 0 && err == nil {
		return io.ErrNoProgress
	}
	if err == io.EOF {
		err = nil
	}
	return err
}

// lookUp takes the indexes of a page with a dictionary, which is often that of the page before.
func (v *values) lookUp(page parquet.Page) {
	v.ids = nil
	d := page.Dictionary()
	if d == nil || !v.hashed {
		return
	}
	if d != v.dictionary {
		v.dictionary, v.entries = d, slices.Grow(v.entries[:0], d.Len())
		for range d.Len() {
			v.entries = append(v.entries, unknown)
		}
	}
	data := page.Data()
	v.ids, v.indexes = v.entries, data.Int32()
}

// seek goes to the first value of a row of the group.
func (v *values) seek(row int64) error {
	v.drop()
	v.at, v.n = 0, 0
	return v.pages.SeekToRow(row)
}

// drop releases the page.
func (v *values) drop() {
	if v.reader != nil {
		parquet.Release(v.page)
		v.page, v.reader = nil, nil
	}
}

// close releases the pages.
func (v *values) close() {
	if v.pages == nil {
		return
	}
	v.drop()
	_ = v.pages.Close() // opened for reading only
	v.pages, v.dictionary, v.ids, v.at, v.n = nil, nil, nil, 0, 0
}
