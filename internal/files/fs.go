package files

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FS is the operations of a file system that writing needs. Tests have implementations that record calls, and some that
// fail.
type FS interface {
	CreateTemp(dir, pattern string) (Temp, error)
	Mkdir(dir string) error
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes changes of names in a directory durable.
	SyncDir(dir string) error
}

// Temp is a file that is being written under a temporary name.
type Temp interface {
	io.WriteCloser
	io.WriterAt
	io.ReaderAt
	io.Seeker
	Name() string
	Sync() error
}

// OS is the file systems of this machine.
type OS struct{}

// CreateTemp implements [FS] as os.CreateTemp does, with the permissions that the process's umask allows.
func (OS) CreateTemp(dir, pattern string) (Temp, error) {
	before, after, _ := strings.Cut(pattern, "*")
	for {
		f, err := os.OpenFile(filepath.Join(dir, before+rand.Text()[:10]+after), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, fs.ErrExist):
			return nil, err
		}
	}
}

// Mkdir implements [FS], with the permissions that the process's umask allows.
func (OS) Mkdir(dir string) error { return os.Mkdir(dir, 0o777) }

// Rename implements [FS] by os.Rename.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements [FS] by os.Remove.
func (OS) Remove(name string) error { return os.Remove(name) }

// SyncDir implements [FS]. On systems that can't sync a directory it does nothing.
func (OS) SyncDir(dir string) error { return SyncDir(dir) }

// MakeDir makes a directory and its missing parents, each durable if its parent may be read. A store has no directories
// to make.
func MakeDir(on FS, dir string) error {
	if IsURL(dir) {
		return on.Mkdir(dir)
	}
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := MakeDir(on, above); err != nil {
			return err
		}
	}
	if err := on.Mkdir(dir); err != nil {
		if st, now := os.Stat(dir); now == nil && st.IsDir() { // another process was faster
			return nil
		}
		return err
	}
	if err := on.SyncDir(above); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}
