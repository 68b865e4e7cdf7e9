package modelfiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
)

// Names in a directory in which a job publishes bases and deltas: Current is a file that names the base to serve.
const (
	Current = "current"
	Bases   = "bases"
	Deltas  = "deltas"
)

// ReadCurrent returns the base to serve of a directory in which a job publishes, and the directory of deltas; "" if it
// is none.
func ReadCurrent(dir string) (base, deltas string, err error) {
	text, err := files.ReadFile(files.Join(dir, Current))
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	name, ends := strings.CutSuffix(string(text), "\n")
	if err == nil && (!ends || name == "" || strings.ContainsAny(name, "/\\")) {
		err = fmt.Errorf("%s names no base, it is %q", files.Join(dir, Current), text)
	}
	return files.Join(dir, Bases, name), files.Join(dir, Deltas), err
}

// WriteCurrent has a base be the one to serve. Readers find it or the one before.
func WriteCurrent(dir, name string) error {
	return files.Write(files.Join(dir, Current), func(w io.Writer) error {
		_, err := io.WriteString(w, name+"\n")
		return err
	})
}

// Delete removes a model, its record first: then it is none.
func Delete(dir string) error {
	entries, err := files.ReadDir(dir)
	errs := []error{err}
	for _, name := range append([]string{Record}, namesOf(entries)...) {
		if err := files.Remove(files.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if !files.IsURL(dir) {
		errs = append(errs, files.Remove(dir))
	}
	return errors.Join(errs...)
}

func namesOf(entries []fs.DirEntry) (names []string) {
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
