package serve

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/jsonobject"
	"github.com/gofleet/gofleet/nn"
)

// fieldRows are rows as JSON objects of the fields that a model's format reads, such as those of a CSV file.
type fieldRows struct {
	format        dataset.Format // nil if the model's format has no fields
	lines         dataset.JSONLines
	feeds, needed []string
	own           []string // needed ones that no feed is called like
}

// fieldRowsOf derives them from the format of lines: what is hashed, scaled and derived of fields is as in training.
func fieldRowsOf(format dataset.Format, feeds []*nn.Node) *fieldRows {
	r := &fieldRows{feeds: namesOf(feeds)}
	var lines dataset.JSONLines
	switch f := format.(type) {
	case dataset.CSV:
		lines = dataset.JSONLines{NAs: f.NAs, Missing: f.Missing, Derived: f.Derived, Schema: f.Schema}
		if f.NA != "" {
			lines.NAs = append(slices.Clone(f.NAs), f.NA)
		}
	case dataset.JSONLines:
		lines = f
	default:
		return r
	}
	r.format, r.lines = lines, lines
	for _, c := range lines.Schema {
		switch {
		case !slices.Contains(r.feeds, c.Name):
		case c.Fields == nil:
			r.needed = append(r.needed, c.Name)
		default:
			r.needed = append(r.needed, c.Fields...)
		}
	}
	for _, d := range slices.Backward(lines.Derived) { // of earlier ones too
		if slices.Contains(r.needed, d.Name) {
			r.needed = slices.DeleteFunc(r.needed, func(name string) bool { return name == d.Name })
			r.needed = append(r.needed, d.From...)
		}
	}
	slices.Sort(r.needed)
	r.needed = slices.Compact(r.needed)
	r.own = slices.DeleteFunc(slices.Clone(r.needed), func(name string) bool { return slices.Contains(r.feeds, name) })
	return r
}

// recognize reports whether the first of the lines has a field that is no feed, and not the numbers of every feed. It
// returns an error if a line then lacks a field: a value that is missing is null.
func (r *fieldRows) recognize(lines []byte) (bool, error) {
	first, _, _ := bytes.Cut(lines, newline)
	if r.format == nil || len(r.absent(first, r.feeds)) == 0 || len(r.absent(first, r.own)) == len(r.own) {
		return false, nil
	}
	n := 0
	for line := range bytes.Lines(lines) {
		n++
		if absent := r.absent(line, r.needed); len(absent) > 0 {
			return true, fmt.Errorf("serve: row %d: field %q: want a value, or null for a missing one, got an object "+
				"without it; the fields are %q: %w", n, absent[0], r.needed, dataset.ErrBadLine)
		}
	}
	return true, nil
}

// absent are the names that an object has no value for.
func (r *fieldRows) absent(object []byte, names []string) (absent []string) {
	reader := jsonobject.NewReader(names, false)
	if reader.Read(bytes.TrimSpace(object)) != nil {
		return nil // whose parser says what is wrong
	}
	for i, name := range names {
		if reader.Value(i).Kind == jsonobject.Absent {
			absent = append(absent, name)
		}
	}
	return absent
}
