package main

import (
	"bytes"
	"io"
	"regexp"
	"time"
)

// plainLog writes terminal output to a file. A line that carriage returns overwrite repeatedly becomes a line every
// keepEvery and a last one; escape sequences are removed.
type plainLog struct {
	w   io.Writer
	now func() time.Time

	line     []byte
	returned bool      // the last byte was a carriage return
	lastKept time.Time // when an overwritten line was last written
}

const (
	keepEvery = 10 * time.Second
	maxLine   = 64 << 10 // a longer line is split
)

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

func (p *plainLog) Write(b []byte) (int, error) {
	for _, c := range b {
		if err := p.put(c); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (p *plainLog) put(c byte) error {
	overwritten := p.returned && c != '\n'
	p.returned = c == '\r'
	if overwritten {
		if err := p.keep(); err != nil {
			return err
		}
	}
	switch {
	case c == '\r':
		return nil
	case c == '\n' || len(p.line) >= maxLine:
		err := p.flush()
		if c != '\n' {
			p.line = append(p.line, c)
		}
		return err
	}
	p.line = append(p.line, c)
	return nil
}

// keep drops a line that is overwritten, or writes it if none was written for a while.
func (p *plainLog) keep() error {
	now := p.now()
	if len(p.visible()) == 0 || now.Sub(p.lastKept) < keepEvery {
		p.line = p.line[:0]
		return nil
	}
	p.lastKept = now
	return p.flush()
}

// flush ends the line, even an empty one.
func (p *plainLog) flush() error {
	_, err := p.w.Write(append(p.visible(), '\n'))
	p.line = p.line[:0]
	return err
}

// Close writes the rest of the last line.
func (p *plainLog) Close() error {
	if len(p.visible()) == 0 {
		return nil
	}
	return p.flush()
}

func (p *plainLog) visible() []byte {
	if bytes.IndexByte(p.line, '\x1b') < 0 {
		return p.line
	}
	return escapes.ReplaceAll(p.line, nil)
}
