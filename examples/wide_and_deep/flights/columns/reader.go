package columns

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Reader unpacks what a [Writer] packed.
type Reader struct {
	r   *bufio.Reader
	err error
}

// NewReader returns a reader of one file.
func NewReader(r io.Reader) *Reader {
	z, err := gzip.NewReader(r)
	if err != nil {
		return &Reader{err: fmt.Errorf("%w: %w", ErrFile, err)}
	}
	return &Reader{r: bufio.NewReader(z)}
}

// Ints reads what Ints wrote; nil once something went wrong.
func (r *Reader) Ints(name string) []int {
	n, b := r.column(name, deltas)
	if n > len(b) {
		r.fail("%s: %d values in %d bytes", name, n, len(b))
		return nil
	}
	values := make([]int, n)
	last := 0
	for i := range values {
		v, size := binary.Varint(b)
		if size <= 0 {
			r.fail("%s: it ends at row %d of %d", name, i, n)
			return nil
		}
		last += int(v)
		values[i], b = last, b[size:]
	}
	return values
}

// Jumps reads what Jumps wrote; nil once something went wrong.
func (r *Reader) Jumps(name string) []int {
	n, b := r.column(name, planes)
	if len(b) != 2*n {
		r.fail("%s: %d values in %d bytes", name, n, len(b))
		return nil
	}
	values := make([]int, n)
	for i := range values {
		values[i] = int(b[i]) | int(b[n+i])<<8
	}
	return values
}

// Strings reads what Strings wrote; nil once something went wrong.
func (r *Reader) Strings(name string) []string {
	n, b := r.column(name, stringz)
	if n == 0 {
		return nil
	}
	values := strings.Split(string(b), "\n")
	if len(values) != n {
		r.fail("%s: %d texts, want %d", name, len(values), n)
		return nil
	}
	return values
}

// Close checks that the file ends here, with the right checksum, and says what went wrong first.
func (r *Reader) Close() error {
	if r.err != nil {
		return r.err
	}
	if _, err := r.r.ReadByte(); err == nil {
		return fmt.Errorf("%w: it goes on after its last column", ErrFile)
	} else if err != io.EOF {
		return fmt.Errorf("%w: %w", ErrFile, err)
	}
	return nil
}

// column reads the next column, which must have this name and coding: the number of its values and its bytes.
func (r *Reader) column(name string, coding byte) (int, []byte) {
	if r.err != nil {
		return 0, nil
	}
	n, b, err := r.next(name, coding)
	if err != nil {
		r.fail("%s: %w", name, err)
		return 0, nil
	}
	return n, b
}

func (r *Reader) next(name string, coding byte) (int, []byte, error) {
	got, err := r.bytes()
	if err != nil {
		return 0, nil, err
	}
	c, err := r.r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	if string(got) != name || c != coding {
		return 0, nil, fmt.Errorf("here stands column %q of coding %q", got, c)
	}
	n, err := binary.ReadUvarint(r.r)
	if err != nil || n > maxColumn {
		return 0, nil, fmt.Errorf("%d values: %w", n, orTooLong(err))
	}
	b, err := r.bytes()
	return int(n), b, err
}

// bytes reads a length and so many bytes; memory grows with what is there, not with what the length says.
func (r *Reader) bytes() ([]byte, error) {
	n, err := binary.ReadUvarint(r.r)
	if err != nil || n > maxColumn {
		return nil, fmt.Errorf("%d bytes: %w", n, orTooLong(err))
	}
	b, err := io.ReadAll(io.LimitReader(r.r, int64(n)))
	if err == nil && len(b) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

func orTooLong(err error) error {
	if err == nil {
		return fmt.Errorf("more than %d", maxColumn)
	}
	return err
}

func (r *Reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrFile}, args...)...)
	}
}
