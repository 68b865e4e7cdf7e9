package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/tokens"
)

// use is the use of a column of files.
type use struct {
	values
	field    string
	leaf     int  // the column's number in the file
	of       form // what its values are
	unsigned bool // its integers are unsigned
	decimals int  // of a decimal: how many of its digits are behind the point
	list     bool // a row may have any number of its values
	column   int  // of the rows; place is its first value there
	place    int
	size     int // number of values in a row; 0 means any number
	kind     tensor.Dtype
	hash     tokens.Hasher // Height 0: a number
	numbers  bool          // hash numbers by their value
	digits   []byte        // of a hashed number
	scale    []dataset.Scaling
	filler   number // for null
	fills    bool
	source   *tokens.Source // of derived fields, with number place: no column of the rows has it
	unit     time.Duration  // of the column's times or dates; 0 for other columns
	text     []byte         // of a source; empty if it is missing

	separator []byte   // between the values of a text; empty if it is one value
	texts     []string // permitted texts, by number; nil if the values are numbers
}

// number is a value in each type that a column may have.
type number struct {
	float float32
	int   int64
	id    uint64
}

func fieldsOf(c dataset.CSVColumn) []string {
	if c.Fields == nil {
		return []string{c.Name}
	}
	return c.Fields
}

// uses returns the uses of the schema, which is valid if it is as a schema of JSON lines: the columns read for each
// row, and the fields derived from them.
func (f *Files) uses() (uses []use, made derivation, err error) {
	if _, err := (dataset.JSONLines{Missing: f.Missing, Derived: f.Derived, Schema: f.Schema}).Columns(); err != nil {
		return nil, made, err
	}
	if made.maker = f.newMaker(); made.maker != nil {
		for i := range made.maker.Sources {
			s := &made.maker.Sources[i]
			uses = append(uses, use{source: s, field: s.Name, place: i})
		}
	}
	for column, c := range f.Schema {
		fields := fieldsOf(c)
		u := use{column: column, size: c.Width() / len(fields), kind: c.Type, scale: c.Scale, numbers: c.HashNumbers,
			separator: []byte(c.Separator), texts: c.Values}
		if c.Missing == "" && c.Hash == 0 {
			c.Missing = f.Missing
		}
		if c.Missing != "" {
			u.fills = true
			if u.filler, err = parse(c.Missing, c.Type); err != nil {
				return nil, made, fmt.Errorf("%w %q: Missing is %q: want a number of the column's type",
					dataset.ErrColumn, c.Name, c.Missing)
			}
		}
		for i, name := range fields {
			u.field, u.place = name, i*u.size
			if c.Hash > 0 {
				u.hash, u.hashed = tokens.NewHasher(name, c.Hash), true
			}
			var derived bool
			if u.leaf, derived = made.maker.Number(name); derived {
				made.columns = append(made.columns, u)
			} else {
				uses = append(uses, u)
			}
		}
	}
	return uses, made, nil
}

// parse parses a number.
func parse(text string, kind tensor.Dtype) (n number, err error) {
	text = strings.TrimPrefix(text, "+")
	switch kind {
	case tensor.Int64:
		n.int, err = strconv.ParseInt(text, 10, 64)
	case tensor.Uint64:
		n.id, err = strconv.ParseUint(text, 10, 64)
	default:
		var x float64
		x, err = strconv.ParseFloat(text, 32)
		n.float = float32(x)
	}
	return n, err
}

// find finds the column in a file.
func (u *use) find(s *parquet.Schema, leaves []leaf) error {
	var found []string
	for i, path := range s.Columns() {
		if strings.Join(path, ".") == u.field {
			found, u.leaf = []string{u.field}, i
			break
		}
		if path[0] == u.field {
			found, u.leaf = append(found, strings.Join(path, ".")), i
		}
	}
	switch len(found) {
	case 0:
		var all []string
		for _, path := range s.Columns() {
			all = append(all, strings.Join(path, "."))
		}
		return fmt.Errorf("unknown column %q; want one of %q", u.field, all)
	case 1:
		return u.check(leaves[u.leaf])
	}
	return fmt.Errorf("%q is several columns, %q: name one of them", u.field, found)
}

// fill sets the row's values of the column.
func (u *use) fill(row dataset.Row) error {
	if u.source != nil {
		return u.read()
	}
	if !u.list && u.size == 1 {
		return u.fillOne(row)
	}
	n := 0
	for first := true; ; first = false {
		v, err := u.peek()
		switch {
		case err == nil && (first || v.RepetitionLevel() > 0):
		case err == nil, errors.Is(err, io.EOF) && !first:
			return u.enough(n)
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		default:
			return err
		}
		if u.values.at++; !v.IsNull() {
			u.values.set++
		} else if u.size == 0 {
			continue
		}
		if err := u.set(row, n, v); err != nil {
			return err
		}
		n++
	}
}

// fillOne is fill for a row with one value, without looking at the value after it.
func (u *use) fillOne(row dataset.Row) error {
	v, err := u.next()
	if err != nil {
		return err
	}
	return u.set(row, 0, v)
}

// next returns the next value, which must exist.
func (u *use) next() (*parquet.Value, error) {
	v, err := u.peek()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if u.values.at++; !v.IsNull() {
		u.values.set++
	}
	return v, nil
}

// enough returns an error unless n is the number of a row's values.
func (u *use) enough(n int) error {
	if u.size > 0 && n != u.size {
		return u.bad(fmt.Sprintf("%d values", u.size), fmt.Sprint(n))
	}
	return nil
}

// set sets the n-th value of the row.
func (u *use) set(row dataset.Row, n int, v *parquet.Value) error {
	if u.size > 0 && n >= u.size {
		return u.bad(fmt.Sprintf("%d values, not more", u.size), fmt.Sprint(n+1))
	}
	if len(u.separator) > 0 && (u.hash.Height > 0 || u.texts != nil) {
		return u.part(row, u.token(v))
	}
	missing := v.IsNull() || u.of == text && len(v.ByteArray()) == 0 // like an empty text of a line
	if missing && u.size == 0 {
		return nil
	}
	x, err := u.number(v, missing)
	if err != nil {
		return err
	}
	return u.put(row, n, x, !missing)
}

// part adds the values between separators, hashed or numbered, as package dataset does.
func (u *use) part(row dataset.Row, text []byte) error {
	for more := true; more; {
		var value []byte
		value, text, more = bytes.Cut(text, u.separator)
		if value = bytes.Trim(value, " \t"); len(value) == 0 {
			continue
		}
		if u.texts != nil {
			x, err := u.numbered(value)
			if err == nil {
				err = u.put(row, 0, x, true)
			}
			if err != nil {
				return err
			}
			continue
		}
		if u.numbers {
			u.text = tokens.AppendNumber(u.text[:0], value)
			value = u.text
		}
		id := u.hash.ID(value)
		if err := u.put(row, 0, number{int: id, id: uint64(id)}, true); err != nil {
			return err
		}
	}
	return nil
}

// put sets the n-th value of the row. The number for a missing value is not scaled.
func (u *use) put(row dataset.Row, n int, x number, there bool) error {
	if there && len(u.scale) > 0 {
		scaled := u.scale[(u.place+n)%len(u.scale)].Of(x.float)
		if math.IsInf(float64(scaled), 0) {
			return u.bad("a number that its Scale leaves in the range of float32", fmt.Sprint(x.float))
		}
		x.float = scaled
	}
	switch {
	case u.size == 0 && u.kind == tensor.Float32:
		row.AppendFloat(u.column, x.float)
	case u.size == 0 && u.kind == tensor.Int64:
		row.AppendInt(u.column, x.int)
	case u.size == 0:
		row.AppendID(u.column, x.id)
	case u.kind == tensor.Float32:
		row.Floats(u.column)[u.place+n] = x.float
	case u.kind == tensor.Int64:
		row.Ints(u.column)[u.place+n] = x.int
	default:
		row.IDs(u.column)[u.place+n] = x.id
	}
	return nil
}

// number returns the value in the column's type.
func (u *use) number(v *parquet.Value, missing bool) (number, error) {
	switch {
	case u.hash.Height > 0:
		id := u.category(v)
		return number{int: id, id: uint64(id)}, nil
	case missing && u.fills:
		return u.filler, nil
	case missing && u.texts != nil:
		return u.numbered(nil)
	case missing:
		return number{}, u.bad("a number", "null")
	case u.texts != nil:
		return u.numbered(u.token(v))
	case u.of == decimal:
		return u.fromDecimal(v)
	case u.of == half:
		return u.fromFloat(fromHalf(v))
	}
	switch v.Kind() {
	case parquet.Int96:
		return u.fromInt96(v)
	case parquet.Float:
		return u.fromFloat(float64(v.Float()))
	case parquet.Double:
		return u.fromFloat(v.Double())
	case parquet.Boolean:
		if v.Boolean() {
			return number{1, 1, 1}, nil
		}
		return number{}, nil
	case parquet.Int32:
		if u.unsigned {
			return u.fromInt(int64(v.Uint32()))
		}
		return u.fromInt(int64(v.Int32()))
	}
	if i := v.Int64(); i >= 0 || !u.unsigned {
		return u.fromInt(i)
	}
	if u.kind == tensor.Int64 {
		return number{}, u.bad("an integer in the range of int64, below 9223372036854775808 "+
			"(a column made with dataset.IDs takes larger ids)", fmt.Sprint(v.Uint64()))
	}
	return number{float: float32(v.Uint64()), id: v.Uint64()}, nil
}

// numbered returns the number of a text in Values.
func (u *use) numbered(text []byte) (number, error) {
	n := slices.Index(u.texts, string(text))
	if n < 0 {
		return number{}, u.bad(fmt.Sprintf("one of %q", u.texts), strconv.Quote(string(text)))
	}
	return u.fromInt(int64(n))
}

const wantID = "an id, from 0 to 18446744073709551615"

func (u *use) fromInt(i int64) (number, error) {
	if i < 0 && u.kind == tensor.Uint64 {
		return number{}, u.bad(wantID, fmt.Sprint(i))
	}
	return number{float32(i), i, uint64(i)}, nil
}

// fromFloat converts a float; for integers it must be a whole number.
func (u *use) fromFloat(x float64) (number, error) {
	narrow := float32(x)
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return number{}, u.bad("a finite number, or null for a missing one", fmt.Sprint(x))
	case u.kind == tensor.Float32 && math.IsInf(float64(narrow), 0):
		return number{}, u.bad("a number in the range of float32, at most 3.4028235e+38 in size", fmt.Sprint(x))
	case u.kind == tensor.Float32:
		return number{float: narrow}, nil
	case x != math.Trunc(x):
		return number{}, u.bad("an integer", fmt.Sprint(x))
	case math.Abs(x) >= 1<<53:
		return number{}, u.bad("an integer that a column of DOUBLE holds exactly, below 9007199254740992 in size",
			fmt.Sprint(x))
	}
	return u.fromInt(int64(x))
}

// bad is the error for a wrong value.
func (u *use) bad(want, got string) error {
	return &dataset.LineError{Field: u.field, Want: want, Got: got}
}
