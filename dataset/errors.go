package dataset

import (
	"errors"
	"fmt"
)

// Errors in the description of a dataset.
var (
	// ErrColumn is the error for an invalid description of a column.
	ErrColumn = errors.New("dataset: column")
	// ErrOption is the error for an argument or an option with an invalid value.
	ErrOption = errors.New("dataset: option")
	// ErrFormat is the error for a format that can't be described, or a description that can't be read.
	ErrFormat = errors.New("dataset: format")
)

// Errors while data are read.
var (
	// ErrBadLine is wrapped by every [*LineError].
	ErrBadLine = errors.New("dataset: bad line")
	// ErrNoRows is the error of a pass over a dataset without a batch: its source is empty, or an option left no rows.
	// The message names the cause. [Dataset.MayBeEmpty] permits such a pass.
	ErrNoRows = errors.New("dataset: no rows")
	// ErrOnePass is the error for a second pass over a source made from an io.Reader.
	ErrOnePass = errors.New("dataset: source can be read once only")
)

// errIDX is the error for a file that is no IDX file, or whose size differs from its header.
var errIDX = errors.New("dataset: idx file")

// LineError reports a line that could not be parsed: the file, line and field, the expected value and the actual text.
// A [Parser] sets Field, Want and Got; the reader adds the file and line.
type LineError struct {
	File  string
	Line  int // from 1
	Field string
	Want  string
	Got   string
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s:%d: field %s: want %s, got %s", e.File, e.Line, e.Field, e.Want, e.Got)
}

// Is reports whether target is [ErrBadLine].
func (e *LineError) Is(target error) bool { return target == ErrBadLine }

const maxQuote = 40

// badField is the error for a text in place of the wanted one.
func badField(field, want string, got []byte) error {
	if len(got) > maxQuote {
		return &LineError{Field: field, Want: want, Got: fmt.Sprintf("%q… (%d bytes)", got[:maxQuote], len(got))}
	}
	return &LineError{Field: field, Want: want, Got: fmt.Sprintf("%q", got)}
}

// badCount is the error for a wrong number of things.
func badCount(field string, want, got int, things string) error {
	return &LineError{Field: field, Want: fmt.Sprintf("%d %s", want, things), Got: fmt.Sprint(got)}
}

// advised is an error with what to do about the text, unless that is not known.
func advised(err error, do string) error {
	if bad, is := err.(*LineError); is && do != "" {
		bad.Got += " (" + do + ")"
	}
	return err
}
