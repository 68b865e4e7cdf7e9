package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// TempSuffix ends the names of files that are being written. Their names begin with a dot and the file's final name.
const TempSuffix = ".tmp"

// File is a file that is being written.
type File struct {
	*bufio.Writer
	on      FS
	name    string
	tmp     Temp
	sum     *Hash
	size    int64
	settled bool  // in a store, under its final name, after Settle
	sent    int64 // bytes that the system was told to begin to write
}

// early is after how many bytes the system is told to write them to the disk, while the file is written further.
// Otherwise all of a large file would wait for Sync.
const early = 8 << 20

// Create begins a file of that name. The caller calls Commit, Settle, Finish or Abandon.
func Create(name string) (*File, error) { return CreateOn(On(context.Background(), name, OS{}), name) }

// CreateOn is Create on a file system.
func CreateOn(on FS, name string) (*File, error) {
	tmp, err := on.CreateTemp(Dir(name), "."+Base(name)+".*"+TempSuffix)
	if err != nil {
		return nil, err
	}
	f := &File{on: on, name: name, tmp: tmp, sum: NewHash()}
	f.Writer = buffers.Get().(*bufio.Writer)
	f.Reset(counter{f})
	return f, nil
}

// buffers are reused: they are larger than most files.
var buffers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 4*large) }}

// close closes the temporary file. The buffer may be another file's from then on.
func (f *File) close() error {
	if f.Writer != nil {
		f.Reset(nil)
		buffers.Put(f.Writer)
		f.Writer = nil
	}
	return f.tmp.Close()
}

// large is the size in bytes from which a piece is written without copying it into the buffer.
const large = 1 << 16

// Write implements [io.Writer].
func (f *File) Write(b []byte) (int, error) {
	if len(b) < large {
		return f.Writer.Write(b)
	}
	if err := f.Flush(); err != nil {
		return 0, err
	}
	return counter{f}.Write(b)
}

// counter writes to the temporary file and counts size and checksum.
type counter struct{ f *File }

func (c counter) Write(b []byte) (int, error) {
	n, err := c.f.tmp.Write(b)
	if c.f.size += int64(n); c.f.size-c.f.sent >= early {
		writeBack(c.f.tmp, c.f.sent, c.f.size-c.f.sent)
		c.f.sent = c.f.size
	}
	c.f.sum.Write(b[:n])
	return n, err
}

// WriteAhead writes bytes at an offset behind everything written so far.
func (f *File) WriteAhead(b []byte, at int64) error {
	_, err := f.tmp.WriteAt(b, at)
	return err
}

// Pass skips the next n bytes, which WriteAhead has written, and adds them to size and checksum.
func (f *File) Pass(n int64) error {
	if err := f.Flush(); err != nil {
		return err
	}
	read, err := io.Copy(f.sum, io.NewSectionReader(f.tmp, f.size, n))
	if err == nil && read < n {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		_, err = f.tmp.Seek(n, io.SeekCurrent)
	}
	f.size += n
	return err
}

// Size returns the number of bytes written so far, without the buffered ones.
func (f *File) Size() int64 { return f.size }

// Sum returns the checksum of these bytes.
func (f *File) Sum() string { return f.sum.String() }

// Temp returns the file's temporary name, without its directory.
func (f *File) Temp() string { return Base(f.tmp.Name()) }

// Finish makes the file durable under its temporary name, and closes it. On an error the file is removed.
func (f *File) Finish() error {
	err := f.Flush()
	if err == nil {
		err = f.tmp.Sync()
	}
	if err = errors.Join(err, f.close()); err != nil {
		f.on.Remove(f.tmp.Name())
		return fmt.Errorf("writing %s: %w", f.name, err)
	}
	return nil
}

// Settle makes the file durable and returns its name, without its directory: the temporary name, as Finish does, or in
// a store the final name.
func (f *File) Settle() (name string, err error) {
	if IsURL(f.name) {
		err := f.Commit()
		f.settled = err == nil
		return Base(f.name), err
	}
	return f.Temp(), f.Finish()
}

// Commit is Finish, and renames the file to its final name. On an error the file is removed.
func (f *File) Commit() error {
	if err := f.Finish(); err != nil {
		return err
	}
	if err := f.on.Rename(f.tmp.Name(), f.name); err != nil {
		f.on.Remove(f.tmp.Name())
		return fmt.Errorf("writing %s: %w", f.name, err)
	}
	if err := f.on.SyncDir(Dir(f.name)); err != nil {
		return fmt.Errorf("writing %s, whose name may not outlive the machine: %w", f.name, err)
	}
	return nil
}

// Abandon removes the file. It must not be called after Commit.
func (f *File) Abandon() {
	if f.settled {
		f.on.Remove(f.name)
		return
	}
	f.close()
	f.on.Remove(f.tmp.Name())
}

// Write writes a file that appears under its name complete and durable, or not at all.
func Write(name string, write func(io.Writer) error) error {
	return WriteOn(On(context.Background(), name, OS{}), name, write)
}

// WriteOn is Write on a file system.
func WriteOn(on FS, name string, write func(io.Writer) error) error {
	f, err := CreateOn(on, name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Abandon()
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return f.Commit()
}

// SyncDir makes renames in a directory durable. On systems that can't sync a directory it does nothing.
func SyncDir(dir string) error {
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
