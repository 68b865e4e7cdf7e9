package dataset

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gofleet/gofleet/internal/tokens"
)

// NewParser returns a parser for one file. If Fields is nil, it reads them from the first line.
func (f CSV) NewParser() (Parser, error) {
	if _, err := f.Columns(); err != nil {
		return nil, err
	}
	p := &csvParser{CSV: f, split: f.dialect(), missing: newTexts(f.NAs, f.NA), made: newMaker(f.Derived, f.Schema)}
	if f.Fields == nil {
		return &csvHeaderParser{p}, nil
	}
	return p, p.bind(f.Fields)
}

// csvParser is the parser for a file whose fields are known.
type csvParser struct {
	CSV
	split   splitter
	missing texts
	fields  int // of a line
	uses    []fieldUse
	made    *tokens.Maker // makes the derived fields; nil for none
	sources []int         // fields of the line from which they are made
}

// fieldUse is the use of a field.
type fieldUse struct {
	name    string
	from    int  // field of the line, or the number of a derived one
	derived bool // the field is derived
	column  int
	at      int
	kind    kind
	hash    tokens.Hasher // height 0: a number
	numbers bool          // hash numbers by their value
	digits  []byte
	scale   []Scaling
	filler  filler // the number for missing values; without it they are an error
	texts   *numberedTexts

	separator []byte   // between the values of a text; empty if it is one value
	values    []string // permitted texts, by number; nil if the values are numbers
}

// use returns the use of a field: value at of the column with this number.
func (c CSVColumn) use(name string, from, column, at int) fieldUse {
	use := fieldUse{name: name, from: from, column: column, at: at, kind: c.kind(), scale: c.Scale, texts: c.texts}
	use.filler, _ = c.filler()
	use.numbers, use.separator, use.values = c.HashNumbers, []byte(c.Separator), c.Values
	if c.Hash > 0 {
		use.hash = tokens.NewHasher(name, c.Hash)
	}
	return use
}

// bind looks up the fields of the schema among the names.
func (p *csvParser) bind(names []string) error {
	p.fields = len(names)
	for column, c := range p.Schema {
		c = c.filled(p.Missing)
		for at, name := range c.fields() {
			from, derived := p.made.Number(name)
			if !derived {
				var err error
				if from, err = find(names, name); err != nil {
					return err
				}
			}
			use := c.use(name, from, column, at)
			use.derived = derived
			p.uses = append(p.uses, use)
		}
	}
	for _, name := range sourcesOf(p.made) {
		from, err := find(names, name)
		if err != nil {
			return err
		}
		p.sources = append(p.sources, from)
	}
	return nil
}

// mostText bounds the text of a header in an error.
const mostText = 400

// find returns the index of a field among the names.
func find(names []string, name string) (int, error) {
	from, bad := slices.Index(names, name), &LineError{Field: strconv.Quote(name), Want: "a field of that name"}
	switch {
	case from < 0:
		bad.Got = fmt.Sprintf("only %.*s%s", mostText, fmt.Sprintf("%.40q", names), advice(names, name))
		return 0, bad
	case slices.Contains(names[from+1:], name):
		bad.Got = fmt.Sprintf("two in %q: rename one", names)
		return 0, bad
	}
	return from, nil
}

// advice is a guess about a header that lacks a name.
func advice(names []string, name string) string {
	if _, number := parseFloat([]byte(names[0])); number {
		return " (no names? Write a first line with the names of the fields, or give CSV.Fields them)"
	}
	for _, comma := range []byte(",;\t|") {
		if len(names) == 1 && slices.Contains(strings.Split(names[0], string(comma)), name) {
			return fmt.Sprintf(" (other separators: give CSV.Comma %q)", comma)
		}
	}
	for _, n := range names {
		switch {
		case strings.TrimSpace(n) == name:
			return " (with blanks around it: set CSV.Trim)"
		case strings.EqualFold(n, name):
			return fmt.Sprintf(" (did you mean %q?)", n)
		}
	}
	return ""
}

// passes reports whether a line is a comment.
func (p *csvParser) passes(line []byte) bool {
	return p.Comment != 0 && len(line) > 0 && line[0] == p.Comment
}

// continues reports whether the row continues after this line; open reports that it did after the line before.
func (p *csvParser) continues(line []byte, open bool) bool {
	return p.Multiline && p.split.open(line, open)
}

func (p *csvParser) ParseLine(line []byte, row Row) error {
	fields, err := p.split.split(line)
	if err != nil && !p.Multiline && p.split.open(line, false) {
		err = advised(err, "Multiline reads texts of several lines")
	}
	if err != nil {
		return err
	}
	if len(fields) != p.fields {
		return advised(badCount("count", p.fields, len(fields), "fields"), cmp.Or(guess(line), p.miscounted(fields)))
	}
	for i, from := range p.sources {
		p.made.Set(i, fields[from], p.missing.has(fields[from]))
	}
	if err := makeFields(p.made); err != nil {
		return err
	}
	for i := range p.uses {
		use := &p.uses[i]
		if use.derived {
			err = use.setDerived(row, p.made)
		} else {
			err = use.set(row, fields[use.from], &p.missing)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// setDerived sets the value of a derived field.
func (u *fieldUse) setDerived(row Row, made *tokens.Maker) error {
	text, missing := made.Text(u.from)
	return u.setAt(row, u.at, text, missing)
}

// set sets the value of a text, or appends the values that its separator divides.
func (u *fieldUse) set(row Row, text []byte, missing *texts) error {
	if len(u.separator) == 0 {
		return u.setAt(row, u.at, text, missing.has(text))
	}
	for more := !missing.has(text); more; {
		var value []byte
		value, text, more = bytes.Cut(text, u.separator)
		if value = bytes.Trim(value, " \t"); missing.has(value) {
			continue
		}
		if err := u.setAt(row, appended, value, false); err != nil {
			return err
		}
	}
	return nil
}

// setAt sets a value of the row's column, or appends one if at is appended.
func (u *fieldUse) setAt(row Row, at int, text []byte, missing bool) error {
	if u.texts != nil {
		u.setID(row, at, u.texts.number(text))
		return nil
	}
	if u.hash.Height > 0 {
		if missing {
			text = nil
		}
		if u.numbers {
			u.digits = tokens.AppendNumber(u.digits[:0], text)
			text = u.digits
		}
		u.setID(row, at, u.hash.ID(text))
		return nil
	}
	if missing && u.filler.there {
		u.fill(row, at)
		return nil
	}
	if u.values != nil {
		n := slices.Index(u.values, string(text))
		if n < 0 {
			return badField(u.name, fmt.Sprintf("one of %q", u.values), text)
		}
		u.digits = strconv.AppendInt(u.digits[:0], int64(n), 10)
		text = u.digits
	}
	var ok bool
	switch u.kind {
	case floatKind:
		var x float32
		x, ok = parseFloat(text)
		if x = u.scaled(x, at); ok && math.IsInf(float64(x), 0) {
			return badField(u.name, "a number that its Scale leaves in the range of float32", text)
		}
		place(row, u.column, at, x)
	case idKind:
		var x uint64
		x, ok = parseID(text)
		place(row, u.column, at, x)
	default:
		var x int64
		x, ok = parseInt(text)
		place(row, u.column, at, x)
	}
	if !ok {
		want := u.kind.want(text)
		switch {
		case missing:
			want += ", or a Missing of its column to take for one"
		case slices.Contains(UsualNAs(), string(text)):
			want += ", or, to take it for a missing one, NAs such as UsualNAs and a Missing"
		default:
			return advised(badField(u.name, want, text), tokens.Advice(string(text)))
		}
		return badField(u.name, want, text)
	}
	return nil
}

// scaled returns x, scaled by the scaling for its place.
func (u *fieldUse) scaled(x float32, at int) float32 {
	if n := len(u.scale); n > 0 {
		return u.scale[at%n].Of(x)
	}
	return x
}

// fill sets the number for a missing value.
func (u *fieldUse) fill(row Row, at int) {
	switch u.kind {
	case floatKind:
		place(row, u.column, at, u.filler.float)
	case idKind:
		place(row, u.column, at, u.filler.id)
	default:
		place(row, u.column, at, u.filler.int)
	}
}

// setID sets a hash, in a column of either type of ids.
func (u *fieldUse) setID(row Row, at int, id int64) {
	if u.kind == idKind {
		place(row, u.column, at, uint64(id))
	} else {
		place(row, u.column, at, id)
	}
}

// csvHeaderParser reads the names of fields from the first line.
type csvHeaderParser struct{ *csvParser }

func (p *csvHeaderParser) ParseHeader(line []byte) error {
	fields, err := p.split.split(line)
	if err != nil {
		return advised(err, guess(line))
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return advised(p.bind(names), guess(line))
}

// miscounted is what makes a row's fields as many as the header's.
func (p *csvParser) miscounted(fields [][]byte) string {
	n := len(fields)
	switch {
	case n < p.fields:
		return "is the file cut off, or the line no row? Files.SkipBad passes over some"
	case n == p.fields+1 && len(fields[n-1]) == 0:
		return "a separator ends the line: let one end the first line too, or remove it"
	}
	return `a separator within a text? Texts that have one stand in double quotes, as "so, and so"; ` +
		"Files.SkipBad passes over some lines"
}

// guess is what reads a first line that is no header, "" if it may be one.
func guess(line []byte) string {
	switch {
	case bytes.HasPrefix(line, []byte("{")):
		return "lines of JSON: JSONLines reads them"
	case bytes.HasPrefix(line, []byte("[")):
		return "an array of JSON? JSONLines reads objects, each on a line of its own"
	case bytes.HasPrefix(line, []byte("#")):
		return "a comment? CSV.Comment passes over lines that begin with it"
	case bytes.HasPrefix(line, []byte("<")):
		return "a page of HTML? Look at what was downloaded"
	case bytes.HasPrefix(line, []byte("sep=")):
		return "a spreadsheet's own line: remove it"
	case bytes.Contains(line, []byte("\r")):
		return `lines that end with \r alone: write \n, as tr '\r' '\n' does`
	}
	return ""
}
