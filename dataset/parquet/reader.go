package parquet

import (
	"io"
	"math"

	"github.com/gofleet/gofleet/dataset"
)

// reader is one pass over files on the calling goroutine.
type reader struct {
	files cutter
	rows  decoder
	now   part // the part being decoded
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

// got returns the result of a Read that has appended n rows; ended is the end of the pass, if it ended.
func got(n int, ended error) (int, error) {
	if ended == io.EOF && n > 0 {
		return n, nil
	}
	return n, ended
}

// ready continues with the next part.
func (r *reader) ready() (err error) {
	r.drop()
	if r.now, err = r.files.next(math.MaxInt64); err != nil {
		return err
	}
	return r.rows.seek(r.now)
}

// drop releases the part.
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
