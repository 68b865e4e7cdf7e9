package dataset

import (
	"fmt"
	"slices"
	"strconv"
)

// CSV is text of fields between commas or another separator, one row a line. A field may stand in double quotes, with
// a quote inside it doubled; it can't hold a line end.
//
//	dataset.CSV{NA: "NA", Schema: []dataset.CSVColumn{
//		{Column: dataset.Floats("dense_input", 2), Fields: []string{"distance", "temp"}, Missing: "0"},
//		{Column: dataset.Ints("C", 2), Fields: []string{"carrier", "dest"}, Hash: 1000001},
//		{Column: dataset.Floats("late")},
//	}}
type CSV struct {
	// Comma is the separator; ',' when 0. '\t' makes it TSV.
	Comma byte
	// Fields names the fields of a line in order; nil takes the names from the first line of each file.
	Fields []string
	// NA is a text that means a missing value, as an empty field does; none when "".
	NA string
	// Schema says what becomes of the fields. Fields that it doesn't name are passed over.
	Schema []CSVColumn
}

// CSVColumn is a column, and the fields that fill it.
type CSVColumn struct {
	Column
	// Fields has the name of a field for each value of the column; nil is one field with the column's name.
	Fields []string
	// Hash, if not 0, makes text an id: HashID(field, text, Hash). A missing value is hashed as "".
	Hash int64
	// Missing is the number that a missing value becomes. By default a line that lacks one is bad.
	Missing string
}

func (c CSVColumn) fields() []string {
	if c.Fields == nil {
		return []string{c.Name}
	}
	return c.Fields
}

// Columns are those of Schema.
func (f CSV) Columns() ([]Column, error) {
	if f.Comma == '"' || f.Comma == '\n' || f.Comma == '\r' {
		return nil, fmt.Errorf("%w CSV.Comma is %q: want a character that separates fields", ErrOption, f.Comma)
	}
	var columns []Column
	for _, c := range f.Schema {
		if err := c.check(); err != nil {
			return nil, err
		}
		for _, name := range c.fields() {
			if f.Fields != nil && !slices.Contains(f.Fields, name) {
				return nil, fmt.Errorf("%w %q: there is no field %q in %q", ErrColumn, c.Name, name, f.Fields)
			}
		}
		columns = append(columns, c.Column)
	}
	return columns, checkColumns(columns)
}

func (c CSVColumn) check() error {
	if err := c.Column.check(); err != nil {
		return err
	}
	if c.Varying || c.Width() != len(c.fields()) {
		return fmt.Errorf("%w %q: %d values a row can't come from %d fields", ErrColumn, c.Name, c.Width(), len(c.fields()))
	}
	if c.Hash < 0 || c.Hash > 0 && c.kind() == floatKind {
		return fmt.Errorf("%w %q: Hash is %d; want 1 or more, and a column of Ints or IDs", ErrColumn, c.Name, c.Hash)
	}
	if c.Missing == "" {
		return nil
	}
	if !c.kind().check([]byte(c.Missing)) {
		return fmt.Errorf("%w %q: Missing is %q; want a number of the column's type", ErrColumn, c.Name, c.Missing)
	}
	return nil
}

// NewParser returns a parser for one file: it wants the first line when Fields is nil.
func (f CSV) NewParser() (Parser, error) {
	if _, err := f.Columns(); err != nil {
		return nil, err
	}
	p := &csvParser{CSV: f, split: splitter{comma: f.Comma}}
	if f.Comma == 0 {
		p.split.comma = ','
	}
	if f.Fields == nil {
		return &csvHeaderParser{p}, nil
	}
	return p, p.bind(f.Fields)
}

// csvParser is the parser once it is known where fields stand.
type csvParser struct {
	CSV
	split  splitter
	fields int // of a line
	uses   []fieldUse
}

// fieldUse is what becomes of a field.
type fieldUse struct {
	name   string
	from   int // field of the line
	column int
	at     int
	kind   kind
	hash   hasher // height 0: a number
	filler []byte // stands for a missing number; nil: there must be one
}

// bind finds the fields of the schema among the names.
func (p *csvParser) bind(names []string) error {
	p.fields = len(names)
	for column, c := range p.Schema {
		for at, name := range c.fields() {
			from := slices.Index(names, name)
			if from < 0 {
				return &LineError{Field: strconv.Quote(name), Want: "a field of that name", Got: fmt.Sprintf("only %q", names)}
			}
			use := fieldUse{name: name, from: from, column: column, at: at, kind: c.kind()}
			if c.Hash > 0 {
				use.hash = newHasher(name, c.Hash)
			}
			if c.Missing != "" {
				use.filler = []byte(c.Missing)
			}
			p.uses = append(p.uses, use)
		}
	}
	return nil
}

func (p *csvParser) ParseLine(line []byte, row Row) error {
	fields, err := p.split.split(line)
	if err != nil {
		return err
	}
	if len(fields) != p.fields {
		return badCount("count", p.fields, len(fields), "fields")
	}
	for i := range p.uses {
		use := &p.uses[i]
		text := fields[use.from]
		missing := len(text) == 0 || p.NA != "" && string(text) == p.NA
		if err := use.set(row, text, missing); err != nil {
			return err
		}
	}
	return nil
}

func (u *fieldUse) set(row Row, text []byte, missing bool) error {
	if u.hash.height > 0 {
		if missing {
			text = nil
		}
		u.setInt(row, u.hash.id(text))
		return nil
	}
	if missing && u.filler != nil {
		text = u.filler
	}
	var ok bool
	switch u.kind {
	case floatKind:
		row.Floats(u.column)[u.at], ok = parseFloat(text)
	case idKind:
		row.IDs(u.column)[u.at], ok = parseID(text)
	default:
		row.Ints(u.column)[u.at], ok = parseInt(text)
	}
	if !ok {
		return badField(u.name, u.kind.want(text), text)
	}
	return nil
}

// setInt sets a hash, in a column of either kind of id.
func (u *fieldUse) setInt(row Row, id int64) {
	if u.kind == idKind {
		row.IDs(u.column)[u.at] = uint64(id)
	} else {
		row.Ints(u.column)[u.at] = id
	}
}

// csvHeaderParser takes the names of fields from the first line.
type csvHeaderParser struct{ *csvParser }

func (p *csvHeaderParser) ParseHeader(line []byte) error {
	fields, err := p.split.split(line)
	if err != nil {
		return err
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return p.bind(names)
}
