package dataset

import (
	"errors"
	"fmt"
)

// Errors in the description of a dataset.
var (
	// ErrColumn says that a column's description can't be used.
	ErrColumn = errors.New("dataset: column")
	// ErrOption says that an argument or an option has a value that can't be used.
	ErrOption = errors.New("dataset: option")
	// ErrFormat says that a format can't be described, or that a description of one can't be read.
	ErrFormat = errors.New("dataset: format")
)

// Errors while data are read.
var (
	// ErrBadLine is what every [*LineError] is.
	ErrBadLine = errors.New("dataset: bad line")
	// ErrTooManyBad says that more lines were bad than [Files] may skip.
	ErrTooManyBad = errors.New("dataset: too many bad lines")
	// ErrIDX says that a file isn't an IDX file, or holds less or more than its header says.
	ErrIDX = errors.New("dataset: idx file")
	// ErrNoRows says that a pass over a dataset had no batch: what it reads is empty, or an option left nothing of it.
	// The error says which. [Dataset.MayBeEmpty] permits such a pass.
	ErrNoRows = errors.New("dataset: no rows")
	// ErrOnePass says that a source made from an io.Reader was read a second time.
	ErrOnePass = errors.New("dataset: source can be read once only")
)

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

// Is says that every LineError is [ErrBadLine].
func (e *LineError) Is(target error) bool { return target == ErrBadLine }

const maxQuote = 40

// badField is the error for text that stands where want was expected.
func badField(field, want string, got []byte) error {
	if len(got) > maxQuote {
		return &LineError{Field: field, Want: want, Got: fmt.Sprintf("%q… (%d bytes)", got[:maxQuote], len(got))}
	}
	return &LineError{Field: field, Want: want, Got: fmt.Sprintf("%q", got)}
}

// badCount is the error for a number of things other than the expected one.
func badCount(field string, want, got int, things string) error {
	return &LineError{Field: field, Want: fmt.Sprintf("%d %s", want, things), Got: fmt.Sprint(got)}
}
