package dataset

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"

	local "github.com/gofleet/gofleet/internal/files"
)

// openFile opens a file of fsys, or of the machine when fsys is nil, has the command, if there is one, make of it what it does, and
// unpacks that if it is gzip.
func openFile(ctx context.Context, fsys fs.FS, path, command string) (io.ReadCloser, error) {
	f, err := openRaw(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	if command != "" {
		p, err := pipeThrough(ctx, command, f)
		if err != nil {
			return nil, fmt.Errorf("dataset: %s: %w", path, err)
		}
		f = p
	} else {
		f = interruptible(ctx, f, f)
	}
	r, err := unpack(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return r, nil
}

func openRaw(fsys fs.FS, path string) (io.ReadCloser, error) {
	if fsys != nil {
		return fsys.Open(path)
	}
	if err := local.CheckLocal(path); err != nil {
		return nil, fmt.Errorf("%w, or give the dataset an FS that opens it", err)
	}
	return os.Open(path)
}

var gzipMagic = []byte{0x1f, 0x8b}

// unpacked reads what a file holds and closes the file.
type unpacked struct {
	io.Reader
	io.Closer
}

// unpack reads f as it is, or through gzip where it begins as gzip does, whatever its name.
func unpack(f io.ReadCloser) (io.ReadCloser, error) {
	b := bufio.NewReaderSize(f, 64<<10)
	if head, _ := b.Peek(len(gzipMagic)); !bytes.Equal(head, gzipMagic) {
		return unpacked{b, f}, nil
	}
	z, err := gzip.NewReader(b)
	return unpacked{z, f}, err
}
