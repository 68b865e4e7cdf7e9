package modelfiles

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gofleet/gofleet/internal/files"
	"github.com/gofleet/gofleet/internal/safetensors"
)

// Is reports whether a directory holds a model, complete or not: a record, or a graph.
func Is(dir string) bool {
	for _, name := range []string{Record, Graph} {
		if is, _ := files.Exists(files.Join(dir, name)); is {
			return true
		}
	}
	return false
}

// Examine reads all files of a model and returns the state of each. For a model without a record it only checks that
// the files of arrays can be read. The error is about the model as a whole.
func Examine(ctx context.Context, dir string) ([]files.State, error) {
	r, err := readRecord(dir)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return readable(dir)
	}
	var all []files.State
	if st, err := files.Stat(files.Join(dir, Record)); err == nil {
		all = append(all, files.State{Name: Record, Bytes: st.Size()})
	}
	f := &Files{dir: dir, texts: map[string][]byte{}}
	defer f.Close()
	for _, e := range r.Files {
		all = append(all, files.State{Name: e.File, Bytes: e.Bytes, Err: f.named(ctx, e)})
	}
	return all, nil
}

// readable examines a model without a record.
func readable(dir string) (all []files.State, err error) {
	entries, err := files.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != Graph && !strings.HasSuffix(e.Name(), tensors) {
			continue
		}
		state := files.State{Name: e.Name()}
		if st, err := e.Info(); err == nil {
			state.Bytes = st.Size()
		}
		f := &Files{dir: dir, texts: map[string][]byte{}}
		state.Err = f.read(e.Name())
		f.Close()
		all = append(all, state)
	}
	return all, err
}

// Array is an array of a model's files.
type Array struct {
	safetensors.Tensor
	File  string
	Bytes int64
}

// Heads returns the arrays of a model, by name, from the headers of its files, and the text of its signature, nil if it
// has none.
func Heads(dir string) (all []Array, signature []byte, err error) {
	r, err := readRecord(dir)
	if err != nil {
		return nil, nil, err
	}
	f := &Files{dir: dir, texts: map[string][]byte{}}
	defer f.Close()
	if err := f.heads(r); err != nil {
		return nil, nil, fmt.Errorf("model in %s: %w", dir, err)
	}
	for _, w := range f.weights {
		for _, t := range w.Tensors() {
			if !w.stray {
				all = append(all, Array{t.Tensor, w.name, t.Size})
			}
		}
	}
	slices.SortFunc(all, func(a, b Array) int { return strings.Compare(a.Name, b.Name) })
	return all, f.Signature(), nil
}

// heads opens the files of a model and reads only their headers.
func (f *Files) heads(r *record) error {
	if r == nil {
		return errors.Join(f.read(Signature), f.others(nil))
	}
	for _, e := range r.Files {
		file, err := f.find(e, files.Open)
		if err == nil {
			err = f.include(e.File, file, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
