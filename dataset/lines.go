package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line in bytes, so that a file without line ends can't fill the memory. Lines up to lineRoom are not
// copied.
const (
	maxLine  = 16 << 20
	lineRoom = 1 << 20
)

// lines divides a text into lines.
type lines struct {
	r      *bufio.Reader
	number int    // of the last line, from 1
	long   []byte // the last line that was longer than lineRoom
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, lineRoom)} }

var byteOrderMark = []byte("\xef\xbb\xbf")

// next returns the next line that isn't empty, without its end; io.EOF after the last. It is valid until the next call.
func (l *lines) next() ([]byte, error) {
	for {
		if line, err := l.line(); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// line returns the next line, even if empty.
func (l *lines) line() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	l.number++
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = append(l.long[:0], line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= maxLine {
			line, err = l.r.ReadSlice('\n')
			l.long = append(l.long, line...)
		}
		line = l.long
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull), len(line) > maxLine:
		return nil, fmt.Errorf("the line is longer than %d bytes; is this a text file?", maxLine)
	case err == io.EOF && len(line) == 0, err != nil && err != io.EOF:
		return nil, err
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}
