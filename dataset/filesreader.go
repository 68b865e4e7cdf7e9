package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// filesReader is one pass over files.
type filesReader struct {
	*Files
	ctx    context.Context
	paths  []string // still to be opened
	path   string   // open now
	file   io.Closer
	lines  *lines // nil between two files
	parser Parser
	number int // of lines that aren't empty, over all files
	bad    int

	firstBad *LineError
	headers  int
	told     bool // how many lines were passed over
}

// Read appends a row for each good line.
func (r *filesReader) Read(t *Table, n int) (int, error) {
	before := t.Len()
	for t.Len()-before < n {
		line, err := r.next()
		if err == io.EOF && t.Len() > before {
			break
		}
		if err != nil {
			return t.Len() - before, err
		}
		if err := r.parse(line, t); err != nil {
			return t.Len() - before, err
		}
	}
	return t.Len() - before, nil
}

// Close ends the pass.
func (r *filesReader) Close() error {
	r.tell()
	return r.closeFile()
}

// closeFile closes the file that is open.
func (r *filesReader) closeFile() error {
	if r.lines == nil {
		return nil
	}
	r.lines = nil
	return r.file.Close()
}

// next is the next line of this worker.
func (r *filesReader) next() ([]byte, error) {
	for {
		if r.lines == nil {
			if err := r.nextFile(); err != nil {
				return nil, err
			}
		}
		line, err := r.lines.next()
		if err == io.EOF {
			if err := r.closeFile(); err != nil {
				return nil, fmt.Errorf("dataset: %s: %w", r.path, err)
			}
			continue
		}
		if err != nil {
			return nil, r.place(err)
		}
		if r.sum != nil {
			r.sum.Write(line)
			r.sum.Write(lineEnd)
		}
		number := r.number
		r.number++
		if r.mine == nil || r.mine.keep(number) {
			return line, nil
		}
	}
}

var lineEnd = []byte("\n")

// nextFile opens the next file and gives its first line to a parser that wants it.
func (r *filesReader) nextFile() error {
	if len(r.paths) == 0 {
		r.tell()
		return io.EOF
	}
	r.path, r.paths = r.paths[0], r.paths[1:]
	if ended := context.Cause(r.ctx); ended != nil {
		return fmt.Errorf("dataset: before %s: %w", r.path, ended)
	}
	parser, err := r.Format.NewParser()
	if err != nil {
		return err
	}
	f, err := r.open(r.ctx, r.path)
	if err != nil {
		return err
	}
	r.file, r.lines, r.parser = f, newLines(f), parser
	header, ok := parser.(HeaderParser)
	if !ok {
		return nil
	}
	line, err := r.lines.next()
	if err == io.EOF {
		return nil // an empty file has no rows
	}
	if err == nil {
		r.headers++
		err = header.ParseHeader(line)
	}
	err = r.place(err)
	if bad, ok := errors.AsType[*LineError](err); ok { // never passed over: without a header no line can be read
		return fmt.Errorf("dataset: bad line: %w", bad)
	}
	return err
}

// parse appends the line's row to t, or passes over a bad line while it may.
func (r *filesReader) parse(line []byte, t *Table) error {
	err := r.parser.ParseLine(line, t.begin())
	if err == nil {
		t.commit()
		return nil
	}
	t.truncate(t.rows)
	err = r.place(err)
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
	return fmt.Errorf("%w: %d, and SkipBad allows %d; the last is %w", ErrTooManyBad, r.bad, r.SkipBad, bad)
}

// place says where an error arose.
func (r *filesReader) place(err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*LineError](err); ok {
		bad.File, bad.Line = r.path, r.lines.number
		return bad
	}
	return fmt.Errorf("dataset: %s:%d: %w", r.path, r.lines.number, err)
}
