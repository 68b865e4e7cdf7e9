package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/jsonobject"
	"github.com/gofleet/gofleet/nn"
	"gorgonia.org/tensor"
)

// jsonLines returns rows as JSON, an array of objects or one object, as one line for each.
func jsonLines(text []byte) ([]byte, error) {
	const blanks = " \t\r\n"
	text = bytes.Trim(text, blanks)
	if jsonobject.End(text) != len(text) {
		return nil, fmt.Errorf("serve: rows as JSON: %w", json.Unmarshal(text, new(any)))
	}
	lines := make([]byte, 0, len(text)+1)
	if text[0] == '[' {
		for row := range jsonobject.Elements(text) {
			lines = append(onOneLine(lines, row), '\n')
		}
		return lines, nil
	}
	return onOneLine(lines, text), nil
}

// onOneLine appends a row with blanks for line ends, which its texts can't contain.
func onOneLine(lines, row []byte) []byte {
	from := len(lines)
	lines = append(lines, row...)
	for i, c := range lines[from:] {
		if c == '\n' || c == '\r' {
			lines[from+i] = ' '
		}
	}
	return lines
}

// jsonFormat is a format of one JSON object a line, with numbers for each feed.
type jsonFormat []dataset.Column

// jsonFormatOf returns a format with a column for each feed.
func jsonFormatOf(feeds []*nn.Node) (f jsonFormat) {
	for _, n := range feeds {
		f = append(f, n.Column())
	}
	return f
}

// Columns implements [dataset.Format].
func (f jsonFormat) Columns() ([]dataset.Column, error) { return f, nil }

// NewParser implements [dataset.Format].
func (f jsonFormat) NewParser() (dataset.Parser, error) {
	var names []string
	for _, c := range f {
		names = append(names, c.Name)
	}
	return &jsonParser{f, jsonobject.NewReader(names, false)}, nil
}

type jsonParser struct {
	columns jsonFormat
	object  *jsonobject.Reader
}

// ParseLine implements [dataset.Parser].
func (p *jsonParser) ParseLine(line []byte, row dataset.Row) error {
	if err := p.object.Read(line); err != nil {
		return &dataset.LineError{Field: "of a row", Want: "an object with a value for each feed", Got: err.Error()}
	}
	for i := range p.columns {
		if err := p.set(i, p.object.Value(i), row); err != nil {
			return err
		}
	}
	if name, v := p.object.Other(); v.Kind != jsonobject.Absent {
		return &dataset.LineError{Field: string(name), Want: "nothing: the model has no such feed",
			Got: string(v.Bytes)}
	}
	return nil
}

// set sets column i to the numbers in a value, with or without brackets around them.
func (p *jsonParser) set(i int, v jsonobject.Value, row dataset.Row) error {
	c, n := p.columns[i], 0
	switch v.Kind {
	case jsonobject.Absent:
		return &dataset.LineError{Field: c.Name, Want: "a number, or a list of numbers",
			Got: "nothing: the row has no such feed"}
	case jsonobject.Nested:
		for v, rest := jsonobject.Next(v.Bytes); v.Kind != jsonobject.Absent; v, rest = jsonobject.Next(rest) {
			if !c.Varying && n == c.Width() {
				return countError(c, "more")
			}
			if err := put(c, i, n, v, row); err != nil {
				return err
			}
			n++
		}
	default:
		if err := put(c, i, 0, v, row); err != nil {
			return err
		}
		n = 1
	}
	if !c.Varying && n < c.Width() {
		return countError(c, strconv.Itoa(n))
	}
	return nil
}

// put sets number n of a column to a value, which must be a number.
func put(c dataset.Column, column, n int, v jsonobject.Value, row dataset.Row) error {
	want, got := "a number of type ", string(v.Bytes)
	switch v.Kind {
	case jsonobject.Number:
		err := set(c, column, n, v.Bytes, row)
		if err == nil {
			return nil
		}
		if errors.Is(err, strconv.ErrRange) {
			want = "a number in the range of "
		}
	case jsonobject.Text, jsonobject.Escaped:
		got = `"` + got + `"`
	}
	return &dataset.LineError{Field: c.Name, Want: want + c.Type.Name(), Got: strconv.Quote(got)}
}

func countError(c dataset.Column, got string) error {
	return &dataset.LineError{Field: c.Name, Want: fmt.Sprintf("%d numbers", c.Width()), Got: got}
}

// set sets number n of a column.
func set(c dataset.Column, column, n int, text []byte, row dataset.Row) error {
	switch c.Type {
	case tensor.Float32:
		x, err := strconv.ParseFloat(string(text), 32)
		if c.Varying {
			row.AppendFloat(column, float32(x))
		} else {
			row.Floats(column)[n] = float32(x)
		}
		return err
	case tensor.Int64:
		x, err := strconv.ParseInt(string(text), 10, 64)
		if c.Varying {
			row.AppendInt(column, x)
		} else {
			row.Ints(column)[n] = x
		}
		return err
	}
	x, err := strconv.ParseUint(string(text), 10, 64)
	if c.Varying {
		row.AppendID(column, x)
	} else {
		row.IDs(column)[n] = x
	}
	return err
}
