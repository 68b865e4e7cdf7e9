package store

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store keeps files under names. A file appears completely or not at all, and is visible from every machine once Put
// has returned. Directories are prefixes of names up to a slash, and are never created or removed.
//
// A name is the part of a URL after "scheme://", without a trailing slash. Methods are called from many goroutines at
// once, must return soon after their context ends, and must retry requests that may succeed at the next attempt. The
// error for a file that does not exist wraps [fs.ErrNotExist]; for a name that the store can't represent, because of a
// character outside portable file names, [fs.ErrInvalid].
//
// A store whose requests cost other than a network service's has a method Costs() [Costs].
type Store interface {
	// Stat describes a file.
	Stat(ctx context.Context, name string) (Info, error)
	// Open reads a range of a file. If the file no longer has the range's version, the error of Open, or of a Read,
	// wraps [ErrChanged].
	Open(ctx context.Context, name string, r Range) (io.ReadCloser, error)
	// Put writes content as the file of that name, and returns its version. If the condition does not hold, nothing is
	// changed and the error wraps [ErrChanged]. After any other error the file is either the previous or the new one.
	Put(ctx context.Context, name string, content *io.SectionReader, c Condition) (version string, err error)
	// List returns the files and directories directly in a directory. A directory that does not exist is empty, without
	// an error.
	List(ctx context.Context, dir string) ([]Info, error)
	// Remove removes a file. It is not an error if the file does not exist.
	Remove(ctx context.Context, name string) error
}

// Info describes a file, or a directory, of which only the name is known.
type Info struct {
	// Name is the last part of the name.
	Name     string
	Size     int64 // in bytes
	Modified time.Time
	// Version changes with each Put of different content; its form is up to the store. List may leave it empty.
	Version string
	Dir     bool
}

// Range is a part of a file.
type Range struct {
	// Version is the version to read; empty means the newest.
	Version string
	From    int64
	// Bytes is how many bytes to read, at most; 0 means all to the end.
	Bytes int64
}

// Condition is the condition under which Put changes a file. The zero value means none.
type Condition struct {
	// Absent says that there is no file.
	Absent bool
	// Version, if set, is that of the file.
	Version string
}

// ErrChanged is the error for a file that does not have the given version, or exists although it should not.
var ErrChanged = errors.New("the file was changed by another")

// Costs are the costs of a store's requests, as its optional method Costs reports them. The zero value is for a network
// service.
type Costs struct {
	// Beat is the interval at which a job renews its claim on a directory; 0 means 5 s.
	Beat time.Duration
	// Answer is how long an answer may take; 0 means a minute.
	Answer time.Duration
	// FromStart says that reading a part of a file costs as much as reading everything before it: files are then read
	// in order, or copied.
	FromStart bool
}
