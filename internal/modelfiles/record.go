package modelfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/gofleet/gofleet/internal/files"
)

// The files of a model that is saved.
const (
	Graph   = "graph.json"
	Weights = "weights.safetensors"
	// Signature says what the model is fed and computes; package nn understands it. Models of earlier versions have none.
	Signature = "signature.json"
	// Record names the others with their sums.
	Record = "model.json"
)

const (
	format  = "gofleet-model"
	version = 1
)

var (
	// ErrNone says that a directory holds no model.
	ErrNone = errors.New("no saved model")
	// ErrDamaged says that a model is not what its record says.
	ErrDamaged = errors.New("damaged model")
)

// record is what model.json holds.
type record struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Files   []entry `json:"files"`
	// Sum is the checksum of the record as it is written without its spaces, and with an empty checksum.
	Sum string `json:"xxhash64"`
}

// entry is a file of the model.
type entry struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"xxhash64"`
	// Written is the name under which it lies until it has its own.
	Written string `json:"written"`
}

func (r record) sum() (string, error) {
	r.Sum = ""
	data, err := json.Marshal(r)
	return files.SumOf(data), err
}

// names says whether the record has a file of that name; one that isn't there has none.
func (r *record) names(file string) bool {
	if r == nil {
		return false
	}
	for _, e := range r.Files {
		if e.File == file {
			return true
		}
	}
	return false
}

// write makes r the record of a directory.
func (r record) write(dir string) (err error) {
	r.Format, r.Version = format, version
	if r.Sum, err = r.sum(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, Record), func(w io.Writer) error { _, err := w.Write(append(data, '\n')); return err })
}

// readRecord returns the record of a directory, nil when it has none.
func readRecord(dir string) (*record, error) {
	data, err := files.ReadFile(filepath.Join(dir, Record))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", Record, ErrDamaged, err)
	}
	if r.Format != format || r.Version != version {
		return nil, fmt.Errorf("%s is of format %q version %d, this build reads %q version %d: %w",
			Record, r.Format, r.Version, format, version, ErrDamaged)
	}
	if sum, err := r.sum(); err != nil || sum != r.Sum {
		return nil, fmt.Errorf("%s has checksum %s, its text makes %s: %w", Record, r.Sum, sum, errors.Join(ErrDamaged, err))
	}
	return &r, r.check()
}

// check refuses names of what lies elsewhere.
func (r *record) check() error {
	for _, e := range r.Files {
		if e.File != filepath.Base(e.File) || e.Written != filepath.Base(e.Written) {
			return fmt.Errorf("%s names %q, written as %q, which are no files of its directory: %w", Record, e.File, e.Written, ErrDamaged)
		}
	}
	return nil
}
