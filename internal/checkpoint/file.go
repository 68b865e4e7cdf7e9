package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"
)

// atomicFile is a file that appears under its name whole, or not at all.
type atomicFile struct {
	*bufio.Writer
	name string
	tmp  *os.File
	sum  hash.Hash64
	size int64
}

func createAtomic(name string) (*atomicFile, error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*"+tempSuffix)
	if err != nil {
		return nil, fmt.Errorf("checkpoint: %w", err)
	}
	f := &atomicFile{name: name, tmp: tmp, sum: xxhash.New()}
	f.Writer = bufio.NewWriterSize(counter{f}, 1<<20)
	return f, nil
}

// counter writes to the temporary file and keeps size and checksum.
type counter struct{ f *atomicFile }

func (c counter) Write(b []byte) (int, error) {
	n, err := c.f.tmp.Write(b)
	c.f.size += int64(n)
	c.f.sum.Write(b[:n])
	return n, err
}

// commit makes what was written durable and gives it its name.
func (f *atomicFile) commit() error {
	err := f.Flush()
	if err == nil {
		err = f.tmp.Chmod(0o644)
	}
	if err == nil {
		err = f.tmp.Sync()
	}
	if err = errors.Join(err, f.tmp.Close()); err == nil {
		err = os.Rename(f.tmp.Name(), f.name)
	}
	if err == nil {
		err = syncDir(filepath.Dir(f.name))
	}
	if err != nil {
		os.Remove(f.tmp.Name())
		return fmt.Errorf("checkpoint: writing %s: %w", f.name, err)
	}
	return nil
}

// abandon removes what was written.
func (f *atomicFile) abandon() {
	f.tmp.Close()
	os.Remove(f.tmp.Name())
}

// syncDir makes a rename durable. Systems that can't sync a directory do without.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, os.ErrInvalid) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// WriteFile writes a file that appears under its name whole and durable, or not at all.
func WriteFile(name string, write func(io.Writer) error) error {
	f, err := createAtomic(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.abandon()
		return fmt.Errorf("checkpoint: writing %s: %w", name, err)
	}
	return f.commit()
}

// sumFile is the checksum of a file, as parts carry it.
func sumFile(ctx context.Context, name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", fmt.Errorf("checkpoint: %w", err)
	}
	defer file.Close()
	h := xxhash.New()
	if _, err := io.Copy(h, reader{ctx, file}); err != nil {
		return "", fmt.Errorf("checkpoint: reading %s: %w", name, err)
	}
	return sumText(h), nil
}

// reader fails when its context ends.
type reader struct {
	ctx context.Context
	io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := ended(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

// ended is the cause of a context's end, nil before it.
func ended(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

func sumText(h hash.Hash64) string { return fmt.Sprintf("%016x", h.Sum64()) }
