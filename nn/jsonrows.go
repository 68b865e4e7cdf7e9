package nn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gofleet/gofleet/dataset"
	"gorgonia.org/tensor"
)

// jsonLines are rows as JSON, an array of objects or one object, as a line for each.
func jsonLines(text []byte) ([]byte, error) {
	var rows []json.RawMessage
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '[' {
		rows = append(rows, text)
	} else if err := json.Unmarshal(trimmed, &rows); err != nil {
		return nil, fmt.Errorf("nn: rows as JSON: %w", err)
	}
	var lines bytes.Buffer
	for i, row := range rows {
		if err := json.Compact(&lines, row); err != nil {
			return nil, fmt.Errorf("nn: row %d as JSON: %w", i, err)
		}
		lines.WriteByte('\n')
	}
	return lines.Bytes(), nil
}

// jsonFormat is a JSON object a line, with numbers for each feed.
type jsonFormat []dataset.Column

// jsonFormatOf has a column for each feed. Ids that are looked up and nothing else may have all bits.
func jsonFormatOf(feeds []*Node) (f jsonFormat) {
	for _, n := range feeds {
		c := dataset.Column{Name: n.name, Type: tensor.Float32, Shape: n.Shape()[1:]}
		switch {
		case isSlot(n):
			c = dataset.Varying(dataset.IDs(n.name))
		case isInt(n) && lookedUpOnly(n):
			c.Type = tensor.Uint64
		case isInt(n):
			c.Type = tensor.Int64
		}
		f = append(f, c)
	}
	return f
}

func lookedUpOnly(n *Node) bool {
	for _, user := range n.graph.nodes {
		if _, ok := user.op.(lookup); !ok && slices.Contains(user.in, n) {
			return false
		}
	}
	return true
}

// Columns implements [dataset.Format].
func (f jsonFormat) Columns() ([]dataset.Column, error) { return f, nil }

// NewParser implements [dataset.Format].
func (f jsonFormat) NewParser() (dataset.Parser, error) { return f, nil }

// ParseLine implements [dataset.Parser].
func (f jsonFormat) ParseLine(line []byte, row dataset.Row) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(line, &values); err != nil {
		return &dataset.LineError{Field: "of a row", Want: "an object with a value for each feed", Got: err.Error()}
	}
	for i, c := range f {
		value, ok := values[c.Name]
		if !ok {
			return &dataset.LineError{Field: c.Name, Want: "a number, or a list of numbers", Got: "nothing: the row has no such feed"}
		}
		delete(values, c.Name)
		if err := f.take(i, value, row); err != nil {
			return err
		}
	}
	for name := range values {
		return &dataset.LineError{Field: name, Want: "nothing: the model has no such feed", Got: string(values[name])}
	}
	return nil
}

// take sets column i to the numbers in value, whatever brackets are around them.
func (f jsonFormat) take(i int, value []byte, row dataset.Row) error {
	c, n := f[i], 0
	for len(value) > 0 {
		at := bytes.IndexAny(value, "[], \t")
		if at < 0 {
			at = len(value)
		}
		number := value[:at]
		value = value[min(at+1, len(value)):]
		if len(number) == 0 {
			continue
		}
		if !c.Varying && n == c.Width() {
			return countError(c, "more")
		}
		if err := set(c, i, n, number, row); err != nil {
			want := "a number of type "
			if errors.Is(err, strconv.ErrRange) {
				want = "a number in the range of "
			}
			return &dataset.LineError{Field: c.Name, Want: want + c.Type.Name(), Got: strconv.Quote(string(number))}
		}
		n++
	}
	if !c.Varying && n < c.Width() {
		return countError(c, strconv.Itoa(n))
	}
	return nil
}

func countError(c dataset.Column, got string) error {
	return &dataset.LineError{Field: c.Name, Want: fmt.Sprintf("%d numbers", c.Width()), Got: got}
}

// set sets number n of a column.
func set(c dataset.Column, column, n int, text []byte, row dataset.Row) error {
	switch c.Type {
	case tensor.Float32:
		x, err := strconv.ParseFloat(string(text), 32)
		row.Floats(column)[n] = float32(x)
		return err
	case tensor.Int64:
		x, err := strconv.ParseInt(string(text), 10, 64)
		row.Ints(column)[n] = x
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
