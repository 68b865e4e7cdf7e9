package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// lineReader is one pass over the lines of files with rows.
type lineReader struct {
	*Files
	ctx    context.Context
	opened int  // files so far
	head   head // of the open file
	file   io.Closer
	lines  *lines // nil between two files
	parser Parser
	at     int    // the first line of the last row, in its file
	joined []byte // a row of several lines
	number int    // of rows' lines, over all files

	headers int
	missed  missed
}

// head is the information that a parser needs before a file's rows.
type head struct {
	path   string
	number int // of the file, from 1
	header []byte
}

// passer is a parser that skips some lines, which are no rows.
type passer interface{ passes(line []byte) bool }

// joiner is a parser of rows that may have several lines.
type joiner interface {
	// continues reports whether the row continues after this line; open reports that it did after the line before.
	continues(line []byte, open bool) bool
}

// next returns the next row's text of this worker.
func (r *lineReader) next() ([]byte, error) {
	for {
		if r.lines == nil {
			if err := r.nextFile(); err != nil {
				return nil, err
			}
		}
		line, err := r.row()
		if err == io.EOF {
			if err := r.closeFile(); err != nil {
				return nil, fmt.Errorf("dataset: %s: %w", r.head.path, err)
			}
			continue
		}
		if err != nil {
			return nil, r.head.place(r.at, err)
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

// row returns the next row's text, of any worker.
func (r *lineReader) row() ([]byte, error) {
	for {
		line, err := r.lines.next()
		r.at = r.lines.number
		if err != nil {
			return nil, err
		}
		if p, ok := r.parser.(passer); ok && p.passes(line) {
			continue
		}
		if j, ok := r.parser.(joiner); ok && j.continues(line, false) {
			return r.join(line, j)
		}
		return line, nil
	}
}

// join returns a row of several lines. A row without an end is returned as far as it goes; its parser reports it.
func (r *lineReader) join(line []byte, j joiner) ([]byte, error) {
	r.joined = append(r.joined[:0], line...)
	for open := true; open && len(r.joined) < maxLine; {
		line, err := r.lines.line()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		r.joined = append(append(r.joined, '\n'), line...)
		open = j.continues(line, true)
	}
	return r.joined, nil
}

// nextFile opens the next file and passes its first line to a parser that wants it.
func (r *lineReader) nextFile() error {
	if r.opened == len(r.Paths) {
		return io.EOF
	}
	r.head = head{path: r.Paths[r.opened], number: r.opened + 1}
	r.opened++
	if ended := context.Cause(r.ctx); ended != nil {
		return fmt.Errorf("dataset: before %s: %w", r.head.path, ended)
	}
	parser, err := r.Format.NewParser()
	if err != nil {
		return err
	}
	f, err := r.open(r.ctx, r.head.path)
	if err != nil {
		return err
	}
	r.missed.add(r.parser)
	r.file, r.lines, r.parser = f, newLines(f), parser
	header, ok := parser.(headerParser)
	if !ok {
		return nil
	}
	line, err := r.row()
	if err == io.EOF {
		return nil // an empty file has no rows
	}
	if err == nil {
		r.headers++
		r.head.header = append([]byte{}, line...)
		err = header.ParseHeader(line)
	}
	err = r.head.place(r.at, err)
	if bad, ok := errors.AsType[*LineError](err); ok { // never skipped: without a header no line can be read
		return fmt.Errorf("dataset: bad line: %w", bad)
	}
	return err
}

// closeFile closes the open file.
func (r *lineReader) closeFile() error {
	if r.lines == nil {
		return nil
	}
	r.lines = nil
	return r.file.Close()
}

// newParser returns another parser of the file's rows.
func (f *Files) newParser(h *head) (Parser, error) {
	p, err := f.Format.NewParser()
	if err != nil || h.header == nil {
		return p, err
	}
	return p, p.(headerParser).ParseHeader(h.header)
}

// place adds the place of an error.
func (h *head) place(line int, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*LineError](err); ok {
		bad.File, bad.Line = h.path, line
		return bad
	}
	return fmt.Errorf("dataset: %s:%d: %w", h.path, line, err)
}
