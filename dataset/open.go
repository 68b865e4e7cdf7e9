package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// openFile opens a file of fsys, or of the machine when fsys is nil, and unpacks it if it is gzip.
func openFile(fsys fs.FS, path string) (io.ReadCloser, error) {
	var f io.ReadCloser
	var err error
	if fsys != nil {
		f, err = fsys.Open(path)
	} else {
		f, err = os.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	r, err := unpack(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{r, f}, nil
}

var gzipMagic = []byte{0x1f, 0x8b}

// unpack reads r as it is, or through gzip where it begins as gzip does, whatever its name.
func unpack(r io.Reader) (io.Reader, error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if head, _ := b.Peek(len(gzipMagic)); !bytes.Equal(head, gzipMagic) {
		return b, nil
	}
	return gzip.NewReader(b)
}
