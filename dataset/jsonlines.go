package dataset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/jsonobject"
	"github.com/gofleet/gofleet/internal/tokens"
)

// JSONLines is text with a JSON object on each line, one row per line.
//
//	dataset.JSONLines{Missing: "0", Schema: []dataset.CSVColumn{
//		{Column: dataset.Floats("dense_input", 2), Fields: []string{"distance", "temp"}},
//		{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000001},
//		{Column: dataset.Varying(dataset.Ints("words"))},
//		{Column: dataset.Floats("late")},
//	}}
//
// The values of a column are divided evenly over its fields: a field of several values is an array, of any depth. The
// field of a varying column has any number of values, and its Separator splits texts. A number may be quoted, true is 1
// and false is 0, and hashing uses the text of a value. null, an empty text and an absent field are missing values; a
// varying column skips them. Names are matched exactly or, in lines without such a name, ignoring case. The last of
// several matches counts.
type JSONLines struct {
	// NAs are more texts that mean a missing value; see [UsualNAs].
	NAs []string
	// Missing is the number for missing values in columns without a Missing of their own. By default a missing value is
	// an error.
	Missing string
	// Derived are fields computed from others, each with one value.
	Derived []Derived
	// Schema maps fields to columns, as in [CSV]. Fields that it doesn't name are ignored.
	Schema []CSVColumn
}

// Columns returns the columns of Schema.
func (f JSONLines) Columns() ([]Column, error) {
	var columns []Column
	for _, c := range f.Schema {
		if err := c.filled(f.Missing).checkValues(); err != nil {
			return nil, err
		}
		if n := len(c.fields()); n == 0 || c.Varying && n > 1 || c.Width()%n != 0 {
			return nil, fmt.Errorf("%w %q: %d values a row can't be shared by %d fields", ErrColumn, c.Name, c.Width(),
				n)
		}
		columns = append(columns, c.Column)
	}
	if err := checkDerived(f.Derived, f.Schema); err != nil {
		return nil, err
	}
	return columns, checkColumns(columns)
}

// NewParser returns a parser of such lines.
func (f JSONLines) NewParser() (Parser, error) {
	if _, err := f.Columns(); err != nil {
		return nil, err
	}
	p := &jsonParser{missing: newTexts(f.NAs, ""), made: newMaker(f.Derived, f.Schema)}
	names := slices.Compact(slices.Sorted(slices.Values(sourcesOf(p.made))))
	for _, name := range sourcesOf(p.made) {
		p.sources = append(p.sources, slices.Index(names, name))
	}
	for column, c := range f.Schema {
		c = c.filled(f.Missing)
		share := c.Width() / len(c.fields())
		for i, name := range c.fields() {
			number, derived := p.made.Number(name)
			if !derived {
				if number = slices.Index(names, name); number < 0 {
					number = len(names)
					names = append(names, name)
				}
			}
			use := jsonUse{c.use(name, number, column, i*share), share}
			use.derived = derived
			p.uses = append(p.uses, use)
		}
	}
	p.object, p.names = jsonobject.NewReader(names, true), names
	return p, nil
}

type jsonParser struct {
	missing texts
	object  *jsonobject.Reader
	names   []string // of the fields, by number
	uses    []jsonUse
	text    []byte        // of escaped texts
	made    *tokens.Maker // makes the derived fields; nil for none
	sources []int         // values of the object from which they are made
}

// jsonUse is the use of a field; the field is the object's value of the same number.
type jsonUse struct {
	fieldUse
	size int // number of its values; 0 means any number
}

func (p *jsonParser) ParseLine(line []byte, row Row) error {
	if line = bytes.TrimLeft(line, " \t"); len(line) == 0 || line[0] != '{' {
		return badField("of the line", "a JSON object", line)
	}
	if err := p.object.Read(line); err != nil {
		return badJSON(line, err)
	}
	if err := p.derive(); err != nil {
		return err
	}
	for i := range p.uses {
		if err := p.set(&p.uses[i], row); err != nil {
			return err
		}
	}
	return nil
}

// derive computes the derived fields of an object that was read.
func (p *jsonParser) derive() error {
	p.text = p.text[:0]
	for i, from := range p.sources {
		v := p.object.Value(from)
		text := v.Bytes
		switch v.Kind {
		case jsonobject.Nested:
			return badField(p.names[from], "one value, to make others of it", text)
		case jsonobject.Escaped: // after the texts of others
			begin := len(p.text)
			p.text = jsonobject.Unescape(p.text, text)
			text = p.text[begin:]
		}
		missing := v.Kind == jsonobject.Absent || v.Kind == jsonobject.Null || p.missing.has(text)
		p.made.Set(i, text, missing)
	}
	return makeFields(p.made)
}

// missed implements misser.
func (p *jsonParser) missed() (fields, others []string, any bool) {
	numbers, others, any := p.object.Missed()
	for _, number := range numbers {
		fields = append(fields, p.names[number])
	}
	return fields, others, any
}

// set sets the values of a field.
func (p *jsonParser) set(u *jsonUse, row Row) error {
	if u.derived {
		return u.setDerived(row, p.made)
	}
	v := p.object.Value(u.from)
	switch {
	case v.Kind == jsonobject.Absent || v.Kind == jsonobject.Null:
		for n := range u.size {
			if err := u.setAt(row, u.at+n, nil, true); err != nil {
				return lacking(err, v.Kind)
			}
		}
		return nil
	case v.Kind == jsonobject.Nested:
		return p.setAll(u, row, v.Bytes)
	}
	if err := p.put(u, row, 0, v); err != nil {
		return err
	}
	if u.size > 1 {
		return badCount(u.name, u.size, 1, "values")
	}
	return nil
}

// setAll sets the values of a field from an array.
func (p *jsonParser) setAll(u *jsonUse, row Row, array []byte) error {
	n := 0
	for rest := array; ; n++ {
		var v jsonobject.Value
		switch v, rest = jsonobject.Next(rest); v.Kind {
		case jsonobject.Nested:
			return badField(u.name, "a number, a text, or an array of them", v.Bytes)
		case jsonobject.Absent:
			if n != u.size && u.size > 0 {
				return badCount(u.name, u.size, n, "values")
			}
			return nil
		}
		if err := p.put(u, row, n, v); err != nil {
			return err
		}
	}
}

var jsonOne, jsonZero = []byte("1"), []byte("0")

// put sets the n-th value of a field. A varying column skips missing values.
func (p *jsonParser) put(u *jsonUse, row Row, n int, v jsonobject.Value) error {
	if u.size > 0 && n == u.size {
		return badCount(u.name, u.size, n+1, "values, not more")
	}
	text := v.Bytes
	if v.Kind == jsonobject.Escaped {
		p.text = jsonobject.Unescape(p.text[:0], text)
		text = p.text
	}
	switch {
	case u.hash.Height > 0 || u.texts != nil || u.values != nil:
	case v.Kind == jsonobject.True:
		text = jsonOne
	case v.Kind == jsonobject.False:
		text = jsonZero
	}
	missing := v.Kind == jsonobject.Null || p.missing.has(text)
	if len(u.separator) > 0 && !missing {
		return u.fieldUse.set(row, text, &p.missing)
	}
	if u.size > 0 {
		return lacking(u.setAt(row, u.at+n, text, missing), v.Kind)
	}
	if missing {
		return nil
	}
	return u.setAt(row, appended, text, false)
}

// lacking extends the error for a field without a number by the value in its place and the options that accept it.
func lacking(err error, kind jsonobject.Kind) error {
	var bad *LineError
	if (kind == jsonobject.Absent || kind == jsonobject.Null) && errors.As(err, &bad) {
		if bad.Got = "null"; kind == jsonobject.Absent {
			bad.Got = "nothing: the line has no such field"
		}
	}
	return err
}

// badJSON is the error for a line that is not JSON: with the text around the place, and the right form of a number
// written in another language's way.
func badJSON(line []byte, err error) error {
	bad := badField("of the line", fmt.Sprintf("a JSON object (%v)", err), line).(*LineError)
	var broken *json.SyntaxError
	if !errors.As(err, &broken) {
		return bad
	}
	at := max(int(broken.Offset)-1, 0) // the offset is the number of bytes read
	if rest := line[min(at, len(line)):]; bytes.HasPrefix(rest, []byte("NaN")) ||
		bytes.HasPrefix(rest, []byte("Infinity")) {
		bad.Want = fmt.Sprintf("a JSON object (%v; JSON has no NaN and no Infinity: write null, a missing value)", err)
	}
	if from := at - maxQuote/2; from > 0 && len(line) > maxQuote {
		to := min(from+maxQuote, len(line))
		bad.Got = fmt.Sprintf("…%q… (bytes %d to %d of %d)", line[from:to], from+1, to, len(line))
	}
	return bad
}
