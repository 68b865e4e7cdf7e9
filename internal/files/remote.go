package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/fleet/store"
)

// patience is how long a store may take for one answer, and for each part of a file.
var patience = time.Minute

// patienceWith returns the patience with a store.
func patienceWith(s store.Store) time.Duration { return cmp.Or(costs(s).Answer, patience) }

// ask makes one request to a store, with a time limit of its patience plus longer. The error is an *fs.PathError, like
// that of a disk.
func ask[T any](ctx context.Context, op, name string, longer time.Duration,
	do func(ctx context.Context, s store.Store, path string) (T, error)) (T, error) {
	s, path, err := store.Of(name)
	if err != nil {
		var none T
		return none, &fs.PathError{Op: op, Path: name, Err: err}
	}
	limit := patienceWith(s) + longer
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the store has not answered for %v", limit))
	defer cancel()
	got, err := do(ctx, s, path)
	if err != nil {
		if ended := Ended(ctx); ended != nil {
			err = ended
		}
		return got, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return got, nil
}

// info is a store's description of a file, as an fs.FileInfo.
type info struct{ store.Info }

func (i info) Name() string       { return i.Info.Name }
func (i info) Size() int64        { return i.Info.Size }
func (i info) ModTime() time.Time { return i.Modified }
func (i info) IsDir() bool        { return i.Dir }
func (i info) Sys() any           { return i.Info }

func (i info) Mode() fs.FileMode {
	if i.Dir {
		return fs.ModeDir | 0o777
	}
	return 0o666
}

// Stat is os.Stat, for URLs too. The modification time of a store's directory is the latest of its files.
func Stat(name string) (fs.FileInfo, error) {
	if !IsURL(name) {
		return os.Stat(name)
	}
	i, err := stat(context.Background(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return statDir(name, err)
	}
	return info{i}, err
}

func stat(ctx context.Context, name string) (store.Info, error) {
	return ask(ctx, "stat", name, 0, func(ctx context.Context, s store.Store, path string) (store.Info, error) {
		return s.Stat(ctx, path)
	})
}

// statDir is Stat of a name that is not a file: of a directory, or the error none if nothing is in it.
func statDir(name string, none error) (fs.FileInfo, error) {
	all, err := list(name)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, none
	}
	dir := store.Info{Name: Base(name), Dir: true}
	for _, i := range all {
		if i.Modified.After(dir.Modified) {
			dir.Modified = i.Modified
		}
	}
	return info{dir}, nil
}

// Exists reports whether a file of a name exists; a link counts even if its target does not exist. An error says that
// it could not find out.
func Exists(name string) (bool, error) {
	var err error
	if IsURL(name) {
		_, err = stat(context.Background(), name)
	} else {
		_, err = os.Lstat(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// ReadDir is os.ReadDir, for URLs too. A directory of a store without files does not exist.
func ReadDir(name string) ([]fs.DirEntry, error) {
	if !IsURL(name) {
		return os.ReadDir(name)
	}
	all, err := list(name)
	if err == nil && len(all) == 0 {
		err = &fs.PathError{Op: "list", Path: name, Err: fs.ErrNotExist}
	}
	var entries []fs.DirEntry
	for _, i := range all {
		entries = append(entries, fs.FileInfoToDirEntry(info{i}))
	}
	return entries, err
}

// list returns the entries of a store's directory, by name.
func list(name string) ([]store.Info, error) {
	all, err := ask(context.Background(), "list", name, 0,
		func(ctx context.Context, s store.Store, path string) ([]store.Info, error) { return s.List(ctx, path) })
	slices.SortFunc(all, func(a, b store.Info) int { return strings.Compare(a.Name, b.Name) })
	return all, err
}

// MakeDirs is os.MkdirAll. A store's directories exist as soon as a file is in them.
func MakeDirs(dir string) error {
	if IsURL(dir) {
		return Check(dir)
	}
	return os.MkdirAll(dir, 0o777)
}

// Remove is os.Remove, for URLs too. For a file of a store that does not exist it returns nil.
func Remove(name string) error { return On(context.Background(), name, OS{}).Remove(name) }

// ReadVersion is ReadFile, and returns the version of a file in a store, for Publish; the version of a file of this
// machine is empty.
func ReadVersion(ctx context.Context, name string) (data []byte, version string, err error) {
	for range attempts {
		f, err := open(ctx, name)
		if err != nil {
			return nil, "", err
		}
		if of, is := f.(*remote); is {
			data, version = make([]byte, of.info.Size), of.info.Version
			_, err = of.pull(data, 0)
		} else {
			data, err = io.ReadAll(f)
		}
		f.Close()
		if !errors.Is(err, store.ErrChanged) {
			return data, version, err
		}
	}
	return nil, "", &fs.PathError{Op: "read", Path: name, Err: store.ErrChanged}
}
