package parquet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/dataset"
)

// decoder decodes the rows of parts, one after the other.
type decoder struct {
	part
	uses []use
	made derivation
	row  int64 // the next row of the group
}

// seek goes to the first row of a part.
func (d *decoder) seek(p part) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = broken(panicked)
		}
		if err != nil {
			err = fmt.Errorf("dataset: %s: %w", p.file.path, err)
		}
	}()
	if p.file != d.file {
		d.close()
		d.uses, d.made = slices.Clone(p.file.uses), p.file.made()
	}
	if p.group != d.group {
		d.openPages(p)
	}
	d.part = p
	for i := range d.uses {
		if d.row != p.first {
			err = errors.Join(err, d.uses[i].seek(p.first))
		}
	}
	d.row = p.first
	return err
}

// openPages opens the pages of a part's group.
func (d *decoder) openPages(p part) {
	d.close()
	chunks := p.group.ColumnChunks()
	for i := range d.uses {
		d.uses[i].pages = chunks[d.uses[i].leaf].Pages()
	}
}

// read appends at most n rows of the part, or none at its end.
func (d *decoder) read(t *dataset.Table, n int) error {
	for ; n > 0 && d.row < d.end; n-- {
		t.At(d.file.path, d.place())
		if err := t.Add(d.fill); err != nil {
			return d.bad(err)
		}
		d.row++
	}
	return nil
}

// place returns the number of the row in the file, from 1.
func (d *decoder) place() int { return d.before + int(d.row) + 1 }

// fill sets a row from the next value or values of each use. A panic of the library on a broken file becomes an error.
func (d *decoder) fill(row dataset.Row) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = broken(p)
		}
	}()
	for i := range d.uses {
		if err := d.uses[i].fill(row); err != nil {
			return err
		}
	}
	return d.made.fill(row, d.uses)
}

// bad adds the row and the file to an error.
func (d *decoder) bad(err error) error {
	if bad, ok := errors.AsType[*dataset.LineError](err); ok {
		bad.File, bad.Line = d.file.path, d.place()
		return fmt.Errorf("dataset: bad row: %w", bad)
	}
	return fmt.Errorf("dataset: %s:%d: %w", d.file.path, d.place(), err)
}

// close releases the pages of a group.
func (d *decoder) close() {
	for i := range d.uses {
		d.uses[i].close()
	}
	d.part, d.row = part{}, 0
}
