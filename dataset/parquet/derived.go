package parquet

import (
	"fmt"
	"strconv"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/tokens"
)

// derivation computes the derived fields of rows, and the columns that name them.
type derivation struct {
	maker   *tokens.Maker // nil if there are no derived fields
	columns []use         // leaf is the number of the derived field
}

// newMaker returns a maker of the derived fields that the schema names, nil if it names none.
func (f *Files) newMaker() *tokens.Maker {
	fields := make([]tokens.Derived, len(f.Derived))
	for i, d := range f.Derived {
		fields[i] = tokens.Derived(d)
	}
	var asked []string
	for _, c := range f.Schema {
		asked = append(asked, fieldsOf(c)...)
	}
	return tokens.NewMaker(fields, asked)
}

// derivation returns one for a goroutine; the uses of the files must have been checked.
func (f *Files) derivation() derivation {
	_, made, _ := f.uses()
	return made
}

// fill sets the derived columns of a row whose sources have been read.
func (d *derivation) fill(row dataset.Row, uses []use) error {
	if d.maker == nil {
		return nil
	}
	for i := range uses {
		if u := &uses[i]; u.source != nil {
			d.maker.Set(u.place, u.text, len(u.text) == 0)
		}
	}
	if bad := d.maker.Make(); bad != nil {
		return &dataset.LineError{Field: bad.Field, Want: bad.Want, Got: strconv.Quote(string(bad.Got))}
	}
	for i := range d.columns {
		u := &d.columns[i]
		text, missing := d.maker.Text(u.leaf)
		x, err := u.made(text, missing)
		if err == nil {
			err = u.put(row, 0, x, !missing)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// made returns the value of a derived field in the column's type.
func (u *use) made(text []byte, missing bool) (number, error) {
	switch {
	case u.hash.Height > 0:
		if u.numbers {
			u.digits = tokens.AppendNumber(u.digits[:0], text)
			text = u.digits
		}
		id := u.hash.ID(text)
		return number{int: id, id: uint64(id)}, nil
	case missing && u.fills:
		return u.filler, nil
	case missing:
		return number{}, u.bad("a number", "null")
	case u.texts != nil:
		return u.numbered(text)
	}
	x, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return number{}, u.bad("an integer", string(text))
	}
	return u.fromInt(x)
}

// read reads the text of a source, as a line would have it; for a column of times it is the time in the source's
// layout.
func (u *use) read() error {
	v, err := u.next()
	switch {
	case err != nil:
		return err
	case v.IsNull():
		u.text = nil
	case u.unit > 0:
		u.text = tokens.AppendTime(u.text[:0], u.instant(v), u.source.Layout)
	default:
		u.text = append(u.text[:0], u.token(v)...)
	}
	return nil
}

// day is the unit of dates.
const day = 24 * time.Hour

// instant returns the time of a value, which counts the column's unit since 1970.
func (u *use) instant(v *parquet.Value) time.Time {
	n := int64(0)
	switch v.Kind() {
	case parquet.Int96: // nanoseconds of a day, and the Julian day, of which 2440588 is that of 1970
		i := v.Int96()
		return time.Unix((int64(i[2])-2440588)*86400, int64(i[1])<<32|int64(i[0])).UTC()
	case parquet.Int32:
		n = int64(v.Int32())
	default:
		n = v.Int64()
	}
	if u.unit == day {
		return time.Unix(n*86400, 0).UTC()
	}
	a := int64(time.Second / u.unit) // units in a second
	return time.Unix(n/a, n%a*int64(u.unit)).UTC()
}

// unitOf returns the unit of a column of times or dates, 0 for other columns.
func unitOf(t parquet.Type) time.Duration {
	logical := t.LogicalType()
	if logical == nil {
		if t.Kind() == parquet.Int96 {
			return time.Nanosecond
		}
		return 0
	}
	switch of := logical.Value.(type) {
	case *format.TimestampType:
		return of.Unit.Value.Duration()
	case *format.TimeType:
		return of.Unit.Value.Duration()
	case *format.DateType:
		return day
	}
	return 0
}

// checkSource returns an error if derived fields can't be computed from the column.
func (u *use) checkSource(is any, float bool) error {
	switch {
	case u.unit > 0 && u.source.Cross:
		return fmt.Errorf("column %q holds %v, and a cross is of texts, as which lines may write times in many ways: "+
			"cross its parts, such as its Hour or its Day", u.field, is)
	case u.unit > 0 && !u.source.Time:
		return fmt.Errorf("column %q holds %v, and Buckets are of numbers, which lines may count in other units: make "+
			"Buckets of a part of it, such as its Seconds", u.field, is)
	case u.list:
		return fmt.Errorf("column %q is a list, and a derived field is made of one value", u.field)
	case float && u.source.Cross:
		return fmt.Errorf("column %q holds %v, and a cross is of texts, which lines may write as 3 or 3.0: write it "+
			"as integers or text, or cross its Buckets", u.field, is)
	}
	return nil
}
