package parquet

import (
	"io"
	"math"

	"github.com/gofleet/gofleet/dataset"
)

// reader is one pass over files, by the goroutine that reads.
type reader struct {
	files cutter
	rows  decoder
	now   part // that rows are made of
	ended error
}

// Read appends rows.
func (r *reader) Read(t *dataset.Table, n int) (int, error) {
	before := t.Len()
	for t.Len()-before < n && r.ended == nil {
		if r.rows.row == r.now.end {
			r.ended = r.ready()
			continue
		}
		r.ended = r.rows.read(t, n-(t.Len()-before))
	}
	return got(t.Len()-before, r.ended)
}

// got is what a Read returns that has appended n rows, before the pass ended if it did.
func got(n int, ended error) (int, error) {
	if ended == io.EOF && n > 0 {
		return n, nil
	}
	return n, ended
}

// ready goes on to the next group of rows.
func (r *reader) ready() (err error) {
	r.drop()
	if r.now, err = r.files.next(math.MaxInt64); err != nil {
		return err
	}
	return r.rows.seek(r.now)
}

// drop lets go of the part.
func (r *reader) drop() {
	r.rows.close()
	if r.now.file != nil {
		r.now.file.release()
	}
	r.now = part{}
}

// Close ends the pass.
func (r *reader) Close() error {
	r.drop()
	r.files.close()
	return nil
}
