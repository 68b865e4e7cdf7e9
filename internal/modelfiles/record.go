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

// The files of a model that is saved.
const (
	Graph   = "graph.json"
	Weights = "weights.safetensors"
	// Signature says what the model is fed and computes; package nn understands it. Models of earlier versions have
	// none.
	Signature = "signature.json"
	// Record names the others with their sums.
	Record = "model.json"
)

const (
	format  = "gofleet-model"
	version = 1
	// deltaVersion is that of a delta, which builds that don't know of deltas refuse.
	deltaVersion = 2
	// publishedVersion is that of a model for serving, base or delta, which says whose it is.
	publishedVersion = 3
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
	// Delta says what a delta follows; nil of a model that is whole by itself.
	Delta *Delta `json:"delta,omitempty"`
	// Generation is the job's that saved a model for serving, and Serial numbers it among the models of the job and of
	// the jobs that it goes on from. Other models, and earlier versions', have neither.
	Generation string `json:"generation,omitempty"`
	Serial     int    `json:"serial,omitempty"`
	// Sum is the checksum of the record as it is written without its spaces, and with an empty checksum.
	Sum string `json:"xxhash64"`

	text []byte // of one that was signed
}

// entry is a file of the model.
type entry struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Sum   string `json:"xxhash64"`
	// Written is the name under which it lies until it has its own.
	Written string `json:"written"`
}

// Delta says which model a delta is to be read over: it has all dense weights, and of embeddings the rows that are
// other than there. Models are named by the checksums of their records.
type Delta struct {
	Base    string `json:"base"`    // the model that is whole
	Follows string `json:"follows"` // the last delta before, or Base
	Number  int    `json:"number"`  // among the deltas of Base, from 1
}

func (d Delta) String() string {
	return fmt.Sprintf("delta %d of base %s, which follows %s", d.Number, d.Base, d.Follows)
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

// wrote says whether a file lies under the name that it was written under.
func (r *record) wrote(name string) bool {
	return slices.ContainsFunc(r.Files, func(e entry) bool { return e.Written == name })
}

// version is that of a record which has what this one has.
func (r *record) version() int {
	switch {
	case r.Generation != "":
		return publishedVersion
	case r.Delta != nil:
		return deltaVersion
	}
	return version
}

// signed is the record with its version and checksum, and its text.
func (r record) signed() (record, error) {
	var err error
	r.Format, r.Version = format, r.version()
	r.text, err = files.Sign(&r, &r.Sum)
	return r, err
}

// write makes r, which is signed, the record of a directory, and returns the one that it has replaced, nil if there was
// none that could be read.
func (r record) write(dir string) (before *record, err error) {
	name := files.Join(dir, Record)
	for range tries {
		text, version, unread := files.ReadVersion(context.Background(), name)
		if files.IsURL(dir) && files.Unreadable(unread) {
			return nil, unread
		}
		before, _ = parseRecord(text)
		_, err = files.Publish(context.Background(), files.OS{}, name, version, r.text)
		if !errors.Is(err, files.ErrChanged) { // else another was faster, and the last to commit counts
			break
		}
	}
	return before, err
}

// readRecord returns the record of a directory, nil when it has none.
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
	if r.Format != format || r.Version != r.version() {
		return nil, fmt.Errorf("%s is of format %q version %d, this build reads %q up to version %d: %w",
			Record, r.Format, r.Version, format, publishedVersion, ErrDamaged)
	}
	if sum := files.SumOfRecord(data, r.Sum); sum != r.Sum || sum == "" {
		return nil, fmt.Errorf("%s has checksum %s, its text makes %s: %w", Record, r.Sum, sum, ErrDamaged)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

// check refuses names of what lies elsewhere.
func (r *record) check() error {
	for _, e := range r.Files {
		if e.File != files.Base(e.File) || e.Written != files.Base(e.Written) {
			return fmt.Errorf("%s names %q, written as %q, which are no files of its directory: %w", Record, e.File,
				e.Written, ErrDamaged)
		}
	}
	return nil
}
