package modelfiles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/gofleet/gofleet/internal/files"
)

// The files of a saved model.
const (
	Graph   = "graph.json"
	Weights = "weights.safetensors"
	// Signature describes the model's inputs and outputs; package nn defines it. Models of other programs have none.
	Signature = "signature.json"
	// Record names the other files with their checksums.
	Record = "model.json"
)

const (
	format  = "gofleet-model"
	version = 4
)

var (
	// ErrNone is the error of a directory without a model.
	ErrNone = errors.New("no saved model")
	// ErrDamaged is the error of a model that differs from its record.
	ErrDamaged = errors.New("damaged model")
	// ErrVersion is the error of a model whose record has another version.
	ErrVersion = errors.New("model of another version")
)

// record is the content of model.json.
type record struct {
	Format  string  `json:"format"`
	Version int     `json:"version"`
	Files   []entry `json:"files"`
	// Delta says what a delta follows; nil for a whole model.
	Delta *Delta `json:"delta,omitempty"`
	// Generation is that of the job which saved a model for serving, and Serial the model's number among those of the
	// job and of the jobs that it resumes. Other models have neither.
	Generation string `json:"generation,omitempty"`
	Serial     int    `json:"serial,omitempty"`
	// Sum is the checksum of the record's text without spaces and with an empty checksum.
	Sum string `json:"xxhash64"`

	text []byte // set by signed
}

// entry is a file of the model.
type entry struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"xxhash64"`
	// Written is the file's temporary name, until it is renamed.
	Written string `json:"written"`
}

// Delta names the model on top of which a delta is loaded. The delta has all dense weights, and of embeddings the rows
// that differ. Models are named by the checksums of their records.
type Delta struct {
	Base    string `json:"base"`    // the whole model
	Follows string `json:"follows"` // the last delta before, or Base
	Number  int    `json:"number"`  // among the deltas of Base, from 1
}

func (d Delta) String() string {
	return fmt.Sprintf("delta %d of base %s, which follows %s", d.Number, d.Base, d.Follows)
}

// names reports whether the record has a file of that name; a nil record has none.
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

// wrote reports whether name is the temporary name of one of the record's files.
func (r *record) wrote(name string) bool {
	return slices.ContainsFunc(r.Files, func(e entry) bool { return e.Written == name })
}

// signed returns the record with its version, checksum and text.
func (r record) signed() (record, error) {
	var err error
	r.Format, r.Version = format, version
	r.text, err = files.Sign(&r, &r.Sum)
	return r, err
}

// write makes r, which is signed, the record of a directory, and returns the record that it has replaced, nil if there
// was none that could be read.
func (r record) write(dir string) (before *record, err error) {
	name := files.Join(dir, Record)
	for range tries {
		text, version, unread := files.ReadVersion(context.Background(), name)
		if files.IsURL(dir) && files.Unreadable(unread) {
			return nil, unread
		}
		before, _ = parseRecord(text)
		_, err = files.Publish(context.Background(), files.OS{}, name, version, r.text)
		if !errors.Is(err, files.ErrChanged) { // else another process was faster; the last to commit counts
			break
		}
	}
	return before, err
}

// readRecord returns the record of a directory, nil if it has none.
func readRecord(dir string) (*record, error) {
	data, err := files.ReadFile(files.Join(dir, Record))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return parseRecord(data)
}

func parseRecord(data []byte) (*record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", Record, ErrDamaged, err)
	}
	if sum := files.SumOfRecord(data, r.Sum); sum != r.Sum || sum == "" {
		return nil, fmt.Errorf("%s has checksum %s, its text makes %s: %w", Record, r.Sum, sum, ErrDamaged)
	}
	if r.Format != format || r.Version != version {
		return nil, fmt.Errorf("%s is of format %q version %d, this build reads %q version %d: load it with the build "+
			"of gofleet that saved it, or save the model again with this one: %w", Record, r.Format, r.Version, format,
			version, ErrVersion)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// check returns an error if the record names a file outside its directory.
func (r *record) check() error {
	for _, e := range r.Files {
		if e.File != files.Base(e.File) || e.Written != files.Base(e.Written) {
			return fmt.Errorf("%s names %q, written as %q: want files of its directory: %w", Record, e.File,
				e.Written, ErrDamaged)
		}
	}
	return nil
}
