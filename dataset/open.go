package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"

	local "github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/unpack"
)

// openFile opens a file of fsys, or of the machine or a store if fsys is nil, filters it through the command, if there
// is one, and unpacks the result if it is gzip or zstd.
func openFile(ctx context.Context, fsys fs.FS, path, command string) (io.ReadCloser, error) {
	f, err := openRaw(ctx, fsys, path)
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
	r, err := unpack.Open(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return r, nil
}

func openRaw(ctx context.Context, fsys fs.FS, path string) (io.ReadCloser, error) {
	if fsys != nil {
		return fsys.Open(path)
	}
	if err := local.Check(path); err != nil {
		return nil, fmt.Errorf("%w, or give the dataset an FS that opens it", err)
	}
	if local.IsURL(path) {
		return local.OpenStream(ctx, path)
	}
	if st, err := os.Stat(path); err == nil && st.Mode()&fs.ModeNamedPipe != 0 {
		return openPipe(ctx, path)
	}
	return os.Open(path)
}

// openPipe opens a named pipe, which waits until something opens it for writing, or until ctx ends.
func openPipe(ctx context.Context, path string) (f *os.File, err error) {
	done := make(chan struct{})
	go func() {
		f, err = os.Open(path)
		close(done)
	}()
	select {
	case <-done:
		return f, err
	case <-ctx.Done():
	}
	for {
		if w, failed := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); failed == nil { // Open ends
			defer w.Close()
		}
		select {
		case <-done:
			if err == nil {
				err = f.Close()
			}
			return nil, errors.Join(fmt.Errorf("%s: the pipe was not opened for writing: %w", path,
				context.Cause(ctx)), err)
		case <-time.After(time.Millisecond):
		}
	}
}
