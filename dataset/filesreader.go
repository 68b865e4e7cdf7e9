package dataset

import (
	"errors"
	"fmt"
	"io"

	"github.com/gofleet/gofleet/internal/panics"
)

// filesReader is one pass over files.
type filesReader struct {
	lineReader
	bad      int
	firstBad *LineError
	told     bool // the skipped lines were reported
}

// Read appends a row for each good line.
func (r *filesReader) Read(t *Table, n int) (int, error) {
	before := t.Len()
	t.from(r.Paths)
	for t.Len()-before < n {
		line, err := r.next()
		if err == io.EOF {
			r.whole(r.parser)
			return endOr(t.Len() - before)
		}
		if err == nil {
			err = r.parse(line, t)
		}
		if err != nil {
			return t.Len() - before, err
		}
	}
	return t.Len() - before, nil
}

// whole ends a pass that has read everything, with this parser for the last file.
func (r *filesReader) whole(p Parser) {
	if r.told {
		return
	}
	r.missed.add(p)
	r.missed.warn(r.Paths)
	r.warn()
}

// Close ends the pass.
func (r *filesReader) Close() error {
	r.warn()
	return r.closeFile()
}

// parse appends the line's row to t, or skips a bad line while that is permitted.
func (r *filesReader) parse(line []byte, t *Table) error {
	if err := parseRow(r.parser, line, t, &r.head, r.at); err != nil {
		return r.pass(err)
	}
	return nil
}

// parseRow appends a row to t, or returns an error with the place of the line.
func parseRow(p Parser, line []byte, t *Table, h *head, at int) error {
	t.At(h.path, at)
	if err := parseLine(p, line, t.appendZeros()); err != nil {
		t.truncate(t.rows)
		return h.place(at, err)
	}
	t.commit()
	return nil
}

// parseLine calls ParseLine of a parser, which may be the program's own, and returns its panic as an error, so that the
// message names the line of the file and the line of the parser.
func parseLine(p Parser, line []byte, row Row) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panics.Error(fmt.Sprintf("the parser %T", p), v)
		}
	}()
	return p.ParseLine(line, row)
}

// pass skips a bad line, or returns why it may not be skipped.
func (r *filesReader) pass(err error) error {
	bad, ok := errors.AsType[*LineError](err)
	if !ok {
		return err
	}
	r.bad++
	if r.bad <= r.SkipBad {
		if r.firstBad == nil {
			r.firstBad = bad
		}
		if r.OnBad != nil {
			r.OnBad(bad)
		}
		return nil
	}
	if r.SkipBad == 0 {
		return fmt.Errorf("dataset: bad line: %w", bad)
	}
	return fmt.Errorf("dataset: too many bad lines: %d, and SkipBad allows %d; the last is %w", r.bad, r.SkipBad, bad)
}
