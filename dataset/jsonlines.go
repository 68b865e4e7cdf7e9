package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// JSONLines is text with a JSON object on each line, one row a line.
//
//	dataset.JSONLines{Missing: "0", Schema: []dataset.CSVColumn{
//		{Column: dataset.Floats("dense_input", 2), Fields: []string{"distance", "temp"}},
//		{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000001},
//		{Column: dataset.Varying(dataset.Ints("words"))},
//		{Column: dataset.Floats("late")},
//	}}
//
// The fields of a column share its values evenly: a field of several is an array, of whatever depth; that of a varying column has any
// number. A number may stand in quotes, true is 1 and false is 0, and what is hashed is the text of a value. null, an empty text and a
// field that isn't there are missing values; a varying column has none of these. A name is found as package encoding/json finds it:
// exactly, or else but for case; the last of several is taken.
type JSONLines struct {
	// NAs are more texts that mean a missing value; see [UsualNAs].
	NAs []string
	// Missing is the number that a missing value becomes in columns that don't say it themselves. By default a line that lacks one is bad.
	Missing string
	// Schema says what becomes of the fields, as that of [CSV] does. Fields that it doesn't name are passed over.
	Schema []CSVColumn
}

// Columns are those of Schema.
func (f JSONLines) Columns() ([]Column, error) {
	var columns []Column
	for _, c := range f.Schema {
		if err := c.filled(f.Missing).checkValues(); err != nil {
			return nil, err
		}
		if n := len(c.fields()); n == 0 || c.Varying && n > 1 || c.Width()%n != 0 {
			return nil, fmt.Errorf("%w %q: %d values a row can't be shared by %d fields", ErrColumn, c.Name, c.Width(), n)
		}
		for _, name := range c.fields() {
			if name == "" || name == "-" || strings.ContainsAny(name, "`\"\\',") {
				return nil, fmt.Errorf("%w %q: field %q can't be found: want no quotes, commas and backslashes in its name",
					ErrColumn, c.Name, name)
			}
		}
		columns = append(columns, c.Column)
	}
	return columns, checkColumns(columns)
}

// NewParser returns a parser of such lines.
func (f JSONLines) NewParser() (Parser, error) {
	if _, err := f.Columns(); err != nil {
		return nil, err
	}
	p := &jsonParser{missing: newTexts(f.NAs, "")}
	names := map[string]int{}
	for column, c := range f.Schema {
		c = c.filled(f.Missing)
		share := c.Width() / len(c.fields())
		for i, name := range c.fields() {
			if _, known := names[name]; !known {
				names[name] = len(names)
			}
			p.uses = append(p.uses, jsonUse{c.use(name, names[name], column, i*share), share})
		}
	}
	p.makeObject(names)
	return p, nil
}

// makeObject makes a struct with a text for each name, for package encoding/json to fill.
func (p *jsonParser) makeObject(names map[string]int) {
	members := make([]reflect.StructField, len(names))
	for name, i := range names {
		tag := reflect.StructTag(fmt.Sprintf("json:%q", name))
		members[i] = reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: reflect.TypeFor[json.RawMessage](), Tag: tag}
	}
	object := reflect.New(reflect.StructOf(members))
	p.object = object.Interface()
	for i := range members {
		p.texts = append(p.texts, object.Elem().Field(i).Addr().Interface().(*json.RawMessage))
	}
}

type jsonParser struct {
	missing texts
	object  any
	texts   []*json.RawMessage // of the fields of object
	uses    []jsonUse
}

// jsonUse is what becomes of a field, which is the text of that number.
type jsonUse struct {
	fieldUse
	size int // how many values it has; 0: any number
}

func (p *jsonParser) ParseLine(line []byte, row Row) error {
	for _, t := range p.texts {
		*t = (*t)[:0]
	}
	if line = bytes.TrimLeft(line, " \t"); len(line) == 0 || line[0] != '{' {
		return badField("of the line", "a JSON object", line)
	}
	if err := json.Unmarshal(line, p.object); err != nil {
		return badField("of the line", fmt.Sprintf("a JSON object (%v)", err), line)
	}
	for i := range p.uses {
		if err := p.set(&p.uses[i], row); err != nil {
			return err
		}
	}
	return nil
}

var jsonNull = []byte("null")

// set sets the values of a field.
func (p *jsonParser) set(u *jsonUse, row Row) error {
	text, n := []byte(*p.texts[u.from]), 0
	if len(text) == 0 || bytes.Equal(text, jsonNull) {
		for ; n < u.size; n++ {
			if err := u.setAt(row, u.at+n, nil, true); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		value, rest, err := nextJSON(text)
		if err != nil {
			return badField(u.name, "a number, a text, or an array of them", text)
		}
		if rest == nil {
			break
		}
		if text = rest; u.size == 0 && p.lacks(value) {
			continue
		}
		if err := p.put(u, row, n, value); err != nil {
			return err
		}
		n++
	}
	if n != u.size && u.size > 0 {
		return badCount(u.name, u.size, n, "values")
	}
	return nil
}

// put sets the n-th value of a field.
func (p *jsonParser) put(u *jsonUse, row Row, n int, v jsonValue) error {
	switch {
	case u.size == 0:
		n = appended
	case n == u.size:
		return badCount(u.name, u.size, n+1, "values, not more")
	default:
		n += u.at
	}
	if u.hash.height == 0 && !v.quoted {
		v.text = boolNumber(v.text)
	}
	return u.setAt(row, n, v.text, p.lacks(v))
}

// lacks says whether the value is a missing one.
func (p *jsonParser) lacks(v jsonValue) bool {
	return p.missing.has(v.text) || !v.quoted && bytes.Equal(v.text, jsonNull)
}

// boolNumber is 1 or 0 for true or false.
func boolNumber(text []byte) []byte {
	switch string(text) {
	case "true":
		return []byte("1")
	case "false":
		return []byte("0")
	}
	return text
}

// jsonValue is a number, a text without its quotes, or true, false or null.
type jsonValue struct {
	text   []byte
	quoted bool
}

// nextJSON is the next value of text, which is good JSON, through arrays of any depth, and what comes after it, which is nil when there is
// no value more. An object is an error.
func nextJSON(text []byte) (v jsonValue, rest []byte, err error) {
	text = bytes.TrimLeft(text, " \t\r\n[],")
	if len(text) == 0 {
		return v, nil, nil
	}
	switch text[0] {
	case '{':
		return v, nil, ErrBadLine
	case '"':
		end := 1
		for ; text[end] != '"'; end++ {
			if text[end] == '\\' {
				end++
			}
		}
		v, rest = jsonValue{text[1:end], true}, text[end+1:]
		if bytes.IndexByte(v.text, '\\') >= 0 {
			var s string
			err = json.Unmarshal(text[:end+1], &s)
			v.text = []byte(s)
		}
		return v, rest, err
	}
	end := bytes.IndexAny(text, " \t\r\n],")
	if end < 0 {
		end = len(text)
	}
	return jsonValue{text[:end], false}, text[end:], nil
}
