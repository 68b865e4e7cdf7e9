package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Decoder turns lines into batches outside a [Dataset], for input of a few lines at a time, such as requests to a
// model: each line becomes the same row as in a file of the format. Use it from one goroutine at a time. It allocates
// nothing in a steady loop.
type Decoder struct {
	format Format
	slot   *slot
	text   bytes.Reader
	rows   lineReader // over text, as it is over a file
	header []byte     // the header that the parser has
}

// NewDecoder returns a decoder of lines in a format. With columns, batches have only these, and lines of [CSV],
// [JSONLines] and [SlotText] need not have the fields of others: lines to be scored need no valid label. In other
// formats, such as your own format that embeds one of these, lines must be complete.
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
			return nil, fmt.Errorf("%w %q: the format has none of that name, only %s", ErrColumn, name,
				columnNames(have))
		}
	}
	d := &Decoder{format: f, slot: newSlot(have, 1)}
	d.rows.parser, err = f.NewParser()
	return d, err
}

func columnNames(columns []Column) string {
	var names []string
	for _, c := range columns {
		names = append(names, fmt.Sprintf("%q", c.Name))
	}
	return strings.Join(names, ", ")
}

// Decode returns the rows of a text as a batch, which is valid until the next call. Empty lines and comments are
// skipped. If files of the format begin with a header, so must the text. A line that can't be parsed is a [*LineError]
// with the number of the line, and a text without rows is [ErrNoRows].
func (d *Decoder) Decode(text []byte) (Batch, error) {
	d.slot.table.Reset()
	d.open(text)
	_, wantsHeader := d.rows.parser.(headerParser)
	for {
		line, err := d.rows.row()
		switch {
		case err == io.EOF && d.slot.table.Len() == 0:
			return nil, fmt.Errorf("%w: the text has only empty lines, comments or a header", ErrNoRows)
		case err == io.EOF:
			return d.slot.bind(), nil
		case err == nil && wantsHeader:
			err, wantsHeader = d.head(line), false
		case err == nil:
			err = d.row(line)
		}
		if err != nil {
			return nil, inText(err, d.rows.at)
		}
	}
}

// open makes the text the source of rows. The buffer grows to the largest text so far, or to lineRoom.
func (d *Decoder) open(text []byte) {
	d.text.Reset(text)
	if room := min(len(text)+1, lineRoom); d.rows.lines == nil || d.rows.lines.r.Size() < room {
		d.rows.lines = &lines{r: bufio.NewReaderSize(&d.text, min(2*room, lineRoom))}
		return
	}
	d.rows.lines.r.Reset(&d.text)
	d.rows.lines.number = 0
}

// row appends the row of a line.
func (d *Decoder) row(line []byte) error {
	t := d.slot.table
	t.At(textName, d.rows.at) // for messages of the model
	err := parseLine(d.rows.parser, line, t.appendZeros())
	if err != nil {
		t.truncate(t.rows)
		return err
	}
	t.commit()
	return nil
}

// head makes a parser for the header, unless the last text had the same header.
func (d *Decoder) head(line []byte) error {
	if d.header != nil && bytes.Equal(line, d.header) {
		return nil
	}
	p, err := d.format.NewParser()
	if err != nil {
		return err
	}
	if err := p.(headerParser).ParseHeader(line); err != nil {
		return err
	}
	d.rows.parser, d.header = p, append(d.header[:0], line...)
	return nil
}

// textName is the name of texts in messages.
const textName = "text"

// inText adds the line in a text to an error.
func inText(err error, line int) error {
	if bad, ok := errors.AsType[*LineError](err); ok {
		bad.File, bad.Line = textName, line
		return fmt.Errorf("dataset: bad line: %w", bad)
	}
	return fmt.Errorf("dataset: %s:%d: %w", textName, line, err)
}
