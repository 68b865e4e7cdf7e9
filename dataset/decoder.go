package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Decoder turns lines into batches outside a [Dataset], for what comes a few lines at a time, such as requests to a model: each line
// becomes the row that it would be in a file of the format. It is for one goroutine at a time, and allocates nothing in a steady loop.
type Decoder struct {
	format Format
	slot   *slot
	parser Parser
	header []byte // that the parser has taken
}

// NewDecoder returns a decoder of lines in a format. With columns, batches are only to have these; then [CSV] and [SlotText] don't ask
// lines for what the others need, so that a line that is to be scored has no label, or any. In other formats a line lacks nothing.
func NewDecoder(f Format, columns ...string) (*Decoder, error) {
	if f == nil {
		return nil, fmt.Errorf("%w NewDecoder: want a format such as dataset.Criteo{}", ErrOption)
	}
	if len(columns) > 0 {
		f = only(f, columns)
	}
	have, err := f.Columns()
	if err != nil {
		return nil, err
	}
	for _, name := range columns {
		if !slices.ContainsFunc(have, func(c Column) bool { return c.Name == name }) {
			return nil, fmt.Errorf("%w %q: the format has none of that name, only %s", ErrColumn, name, columnNames(have))
		}
	}
	d := &Decoder{format: f, slot: newSlot(have, 1)}
	d.parser, err = f.NewParser()
	return d, err
}

func columnNames(columns []Column) string {
	var names []string
	for _, c := range columns {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	return strings.Join(names, ", ")
}

// Decode is the batch of the lines of a text, of one or more rows; empty lines are passed over. Where files of the format begin with a
// header, so does the text. The batch is valid until the next call. A line that can't be understood is a [*LineError], which names
// the text's line, and a text without a row is [ErrNoRows].
func (d *Decoder) Decode(text []byte) (Batch, error) {
	d.slot.table.reset()
	text = bytes.TrimPrefix(text, byteOrderMark)
	_, wantsHeader := d.parser.(HeaderParser)
	for number := 1; len(text) > 0; number++ {
		var line []byte
		line, text, _ = bytes.Cut(text, lineEnd)
		if line = bytes.TrimSuffix(line, carriageReturn); len(line) == 0 {
			continue
		}
		take := d.row
		if wantsHeader {
			take, wantsHeader = d.head, false
		}
		if err := take(line); err != nil {
			return nil, inText(err, number)
		}
	}
	if d.slot.table.Len() == 0 {
		return nil, fmt.Errorf("%w: the text has no line but those that are empty, or a header", ErrNoRows)
	}
	return d.slot.bind()
}

var carriageReturn = []byte("\r")

// row adds the row of a line.
func (d *Decoder) row(line []byte) error {
	t := d.slot.table
	if len(line) > maxLine {
		return fmt.Errorf("the line is longer than %d bytes", maxLine)
	}
	err := d.parser.ParseLine(line, t.begin())
	if err != nil {
		t.truncate(t.rows)
		return err
	}
	t.commit()
	return nil
}

// head gives the header to a parser of its own, unless the last text had the same.
func (d *Decoder) head(line []byte) error {
	if d.header != nil && bytes.Equal(line, d.header) {
		return nil
	}
	p, err := d.format.NewParser()
	if err != nil {
		return err
	}
	if err := p.(HeaderParser).ParseHeader(line); err != nil {
		return err
	}
	d.parser, d.header = p, append(d.header[:0], line...)
	return nil
}

// inText says in which line of a text an error arose.
func inText(err error, line int) error {
	if bad, ok := errors.AsType[*LineError](err); ok {
		bad.File, bad.Line = "text", line
		return fmt.Errorf("dataset: bad line: %w", bad)
	}
	return fmt.Errorf("dataset: text:%d: %w", line, err)
}
