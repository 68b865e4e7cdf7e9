package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine bounds a line in bytes, so that a file without line ends can't fill the memory.
const maxLine = 1 << 20

// lines divides a text into lines without copying them.
type lines struct {
	r      *bufio.Reader
	number int // of the last line, from 1
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, maxLine)} }

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
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return nil, fmt.Errorf("the line is longer than %d bytes; is this a text file?", maxLine)
	case err == io.EOF && len(line) == 0, err != nil && err != io.EOF:
		return nil, err
	}
	if l.number == 1 {
		line = bytes.TrimPrefix(line, byteOrderMark)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}
