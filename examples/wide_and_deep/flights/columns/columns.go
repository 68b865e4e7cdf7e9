// Package columns packs tables column by column into one small gzip file.
//
// Integers are written as differences from the row before, one byte where the difference is small, so that sorted or
// slowly changing columns nearly vanish under gzip; integers that jump about are written byte plane by byte plane.
// Text is a list of lines. Each column has a name, and columns are read in the order in which they were written:
//
//	w := columns.NewWriter(file)
//	w.Ints("day", days)
//	w.Strings("carriers", names)
//	err := w.Close()
//
//	r := columns.NewReader(file)
//	days, names := r.Ints("day"), r.Strings("carriers")
//	err := r.Close()
//
// Errors wait until Close. The same columns give the same bytes.
package columns

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ErrFile says that a file is not what was expected.
var ErrFile = errors.New("columns: file")

// How a column is coded.
const (
	deltas  = 'd'
	planes  = 'p'
	stringz = 's'
)

// maxColumn bounds the bytes of a column: 64 MiB.
const maxColumn = 64 << 20

// Writer packs columns.
type Writer struct {
	z   *gzip.Writer
	err error
}

// NewWriter returns a writer of one file. Close must follow.
func NewWriter(w io.Writer) *Writer {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	return &Writer{z, err}
}

// Ints writes integers that change little from row to row.
func (w *Writer) Ints(name string, values []int) {
	var b []byte
	last := 0
	for _, v := range values {
		b = binary.AppendVarint(b, int64(v-last))
		last = v
	}
	w.column(name, deltas, len(values), b)
}

// Jumps writes integers from 0 to 65,535 that have nothing to do with the row before.
func (w *Writer) Jumps(name string, values []int) {
	n := len(values)
	b := make([]byte, 2*n)
	for i, v := range values {
		if v < 0 || v > 0xffff {
			w.fail(fmt.Errorf("columns: %s: row %d is %d, want 0 to 65535", name, i, v))
			return
		}
		b[i], b[n+i] = byte(v), byte(v>>8)
	}
	w.column(name, planes, n, b)
}

// Strings writes text without line ends.
func (w *Writer) Strings(name string, values []string) {
	if i := slices.IndexFunc(values, func(s string) bool { return strings.Contains(s, "\n") }); i >= 0 {
		w.fail(fmt.Errorf("columns: %s: row %d has a line end", name, i))
		return
	}
	w.column(name, stringz, len(values), []byte(strings.Join(values, "\n")))
}

// Close ends the file and says what went wrong first.
func (w *Writer) Close() error {
	if w.err != nil {
		return w.err
	}
	return w.z.Close()
}

// column writes name, coding, number of values, number of bytes and the bytes.
func (w *Writer) column(name string, coding byte, n int, b []byte) {
	var head []byte
	head = binary.AppendUvarint(head, uint64(len(name)))
	head = append(head, name...)
	head = append(head, coding)
	head = binary.AppendUvarint(head, uint64(n))
	head = binary.AppendUvarint(head, uint64(len(b)))
	for _, part := range [][]byte{head, b} {
		if w.err == nil {
			_, w.err = w.z.Write(part)
		}
	}
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}
