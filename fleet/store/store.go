package store

import (
	"context"
	"errors"
	"io"
	"time"
)

// Store keeps files under names. A file appears under its name whole, or not at all, and who has been told that it is
// there finds it from then on, from every machine. Directories are what names have before a slash: nobody makes or
// removes one.
//
// A name is what stands behind "scheme://" in a URL, without a slash at its end. Methods are called from many
// goroutines at once, return soon after their context has ended, and try again by themselves what may succeed at the
// next attempt. Of a file that is not there an error wraps [fs.ErrNotExist], and of a name that a store can't have, for
// a character that is none of a portable file name's, [fs.ErrInvalid].
type Store interface {
	// Stat is what is known of a file.
	Stat(ctx context.Context, name string) (Info, error)
	// Open reads the bytes of a file that the range names. Where the file was replaced since it had the range's
	// version, the error, of Open or of a Read, wraps [ErrChanged].
	Open(ctx context.Context, name string, r Range) (io.ReadCloser, error)
	// Put makes what content holds the file of that name, and returns its version. Where the condition does not hold,
	// nothing is changed and the error wraps [ErrChanged]. After any other error the file is the one before, or this
	// one.
	Put(ctx context.Context, name string, content *io.SectionReader, c Condition) (version string, err error)
	// List is the files and directories in a directory, without those further below. A directory that has none is
	// empty, and no error.
	List(ctx context.Context, dir string) ([]Info, error)
	// Remove removes a file. That it is not there is no error.
	Remove(ctx context.Context, name string) error
}

// Info is what a store knows of a file, or of a directory, of which it knows no more than the name.
type Info struct {
	// Name is the last part of the name.
	Name     string
	Size     int64 // in bytes
	Modified time.Time
	// Version is another after each Put of other content; what it is made of is the store's affair. List may leave it
	// empty.
	Version string
	Dir     bool
}

// Range is a part of a file.
type Range struct {
	// Version is the one to read; empty is the newest.
	Version string
	From    int64
	// Bytes is how many to read, or as many as there are; 0 is all to the end.
	Bytes int64
}

// Condition is what must be true of a name for Put to change it. The zero value is nothing.
type Condition struct {
	// Absent says that there is no file.
	Absent bool
	// Version, if set, is that of the file.
	Version string
}

// ErrChanged says that a file is not of the version that was named, or is there where none should be.
var ErrChanged = errors.New("the file was changed by another")

// Coster is a Store that says what asking it costs. Others cost what a service on the network does.
type Coster interface {
	Costs() Costs
}

// Costs are what asking a store costs. The zero value is what a service on the network does.
type Costs struct {
	// Beat is how often a job says that a directory is still its own; 0 is every 5 s.
	Beat time.Duration
	// Answer is how long an answer may take; 0 is a minute.
	Answer time.Duration
	// FromStart says that a part of a file costs all that lies before it: files are read in order, or copied.
	FromStart bool
}

// CostsOf are the costs of a store.
func CostsOf(s Store) (c Costs) {
	if says, is := s.(Coster); is {
		c = says.Costs()
	}
	return c
}
