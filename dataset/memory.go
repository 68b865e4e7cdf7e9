package dataset

import (
	"fmt"
	"reflect"
)

// Values is a column with all its values, row by row.
type Values struct {
	Column
	store store
}

// FloatValues is a float32 column with its values; without a shape a sample is one value. The slice is used, not
// copied.
func FloatValues(name string, values []float32, shape ...int) Values {
	return Values{Column: Floats(name, shape...), store: &cells[float32]{values}}
}

// IntValues is an int64 column with its values; without a shape a sample is one value. The slice is used, not copied.
func IntValues(name string, values []int64, shape ...int) Values {
	return Values{Column: Ints(name, shape...), store: &cells[int64]{values}}
}

// IDValues is a uint64 column with its ids; without a shape a sample is one id. The slice is used, not copied.
func IDValues(name string, values []uint64, shape ...int) Values {
	return Values{Column: IDs(name, shape...), store: &cells[uint64]{values}}
}

// FromColumns makes a dataset of columns in memory, which must have the same number of rows.
func FromColumns(columns ...Values) *Dataset {
	t := &Table{}
	var err error
	for i, v := range columns {
		n, e := v.rows()
		if e == nil && i > 0 && n != t.rows {
			e = fmt.Errorf("%w %q: it has %d rows, the columns before it have %d", ErrColumn, v.Name, n, t.rows)
		}
		if err == nil {
			err = e
		}
		t.rows = n
		t.columns = append(t.columns, values{Column: v.Column, width: v.Width(), store: v.values()})
	}
	d := FromIndexed(tableSource{t})
	if err != nil {
		d.err = err
	}
	return d
}

// values returns an empty store for Values that were not made by a constructor, or are of another type.
func (v Values) values() store {
	none := newStore(v.Type)
	if reflect.TypeOf(v.store) != reflect.TypeOf(none) {
		return none
	}
	return v.store
}

func (v Values) rows() (int, error) {
	if err := v.check(); err != nil {
		return 0, err
	}
	size := v.values().len()
	if size%v.Width() != 0 {
		return 0, fmt.Errorf("%w %q: %d values; want a multiple of the width, %d", ErrColumn, v.Name, size, v.Width())
	}
	return size / v.Width(), nil
}

// FromTable makes a dataset of a table, which must not change afterwards.
func FromTable(t *Table) *Dataset { return FromIndexed(tableSource{t}) }

type tableSource struct{ *Table }

func (s tableSource) Gather(t *Table, rows []int) error {
	t.gather(s.Table, rows)
	return nil
}
