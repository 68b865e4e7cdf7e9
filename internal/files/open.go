package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Open opens a file of a store, or a file of this machine, which must be a regular file or a link to one.
func Open(name string) (Reading, error) { return open(context.Background(), name) }

// open is Open with a context, which ends reads of a file in a store.
func open(ctx context.Context, name string) (Reading, error) {
	if IsURL(name) {
		f, err := openRemote(ctx, name)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	f, err := OpenLocal(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// OpenLocal opens a file of this machine, which must be a regular file or a link to one. Opening a pipe would wait for
// its writer, and reading a device would not end.
func OpenLocal(name string) (*os.File, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("it is %s, not a regular file",
			kind(st.Mode()))}
	}
	return os.Open(name)
}

// ReadFile is os.ReadFile of a regular file, for URLs too.
func ReadFile(name string) ([]byte, error) {
	data, _, err := ReadVersion(context.Background(), name)
	return data, err
}

// Unreadable reports whether an error is a file system's that leaves open what a file holds: the file may be complete,
// and must not be removed. That a file does not exist is no such error.
func Unreadable(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	var call *os.SyscallError
	return (errors.As(err, &path) || errors.As(err, &link) || errors.As(err, &call)) && !errors.Is(err, fs.ErrNotExist)
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a file of mode " + m.String()
}
