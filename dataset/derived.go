package dataset

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/tokens"
)

// Derived is a field computed from others. Columns, and later derived fields, use it like a field of the file; it hides
// a field of the file with the same name:
//
//	dataset.CSV{Derived: []dataset.Derived{
//		{Name: "hour", From: []string{"departs"}, Part: dataset.Hour, Layout: "2006-01-02 15:04"},
//		{Name: "far", From: []string{"distance"}, Buckets: []float64{500, 1000, 2000}},
//		{Name: "rush", From: []string{"origin", "hour"}},
//	}, Schema: []dataset.CSVColumn{
//		{Column: dataset.Ints("C", 2), Fields: []string{"far", "rush"}, Hash: 100_000},
//		{Column: dataset.Floats("hour"), Scale: []dataset.Scaling{{Mean: 12, Std: 6}}},
//	}}
//
// With Part it is a part of a time, with Buckets the bucket of a number, and with neither a cross of several fields. It
// is part of the format's description, so that a saved model computes it for the lines that it scores. It is missing if
// its input is missing.
type Derived struct {
	Name string
	// From names the input fields: one for Part or Buckets, two or more for a cross, whose text is the fields' texts
	// joined by ×, such as "JFK×17", to be hashed. A missing field is "" in a cross; if all are missing, the cross is
	// missing.
	From []string
	// Part is the part of a time, a whole number.
	Part TimePart
	// Layout is the layout of times in the field, as in package time: "2006-01-02 15:04:05". By default the field has
	// seconds since 1970, and with "ms" milliseconds. Parts of a text are those of the clock and calendar that it
	// shows, at its own offset if it has one. Numbers are in UTC; for Seconds, so is a text without an offset, even if
	// it has a zone abbreviation.
	Layout string
	// Buckets are increasing boundaries: a number below the first is in bucket 0, and a number from the i-th on in
	// bucket i.
	Buckets []float64
}

// TimePart is the part of a time that a [Derived] field has.
type TimePart = tokens.Part

// The parts of a time.
const (
	Minute  TimePart = "minute"   // of the day, 0 to 1439
	Hour    TimePart = "hour"     // 0 to 23
	Weekday TimePart = "weekday"  // Monday is 1, Sunday 7 (ISO 8601)
	Day     TimePart = "day"      // of the month, from 1
	Month   TimePart = "month"    // January is 1
	YearDay TimePart = "year_day" // from 1
	Year    TimePart = "year"
	Seconds TimePart = "seconds" // since 1970, to order rows by: LastBy of train.Files, [Dataset.SplitLast]
)

// derivedFields converts the fields for package tokens.
func derivedFields(all []Derived) []tokens.Derived {
	fields := make([]tokens.Derived, len(all))
	for i, d := range all {
		fields[i] = tokens.Derived(d)
	}
	return fields
}

// newMaker returns a maker of the derived fields that the schema names, nil if it names none.
func newMaker(all []Derived, schema []CSVColumn) *tokens.Maker {
	if len(all) == 0 {
		return nil
	}
	var asked []string
	for _, c := range schema {
		asked = append(asked, c.fields()...)
	}
	return tokens.NewMaker(derivedFields(all), asked)
}

// checkDerived returns an error for fields that can't be computed, and columns that can't have their values.
func checkDerived(all []Derived, schema []CSVColumn) error {
	if err := tokens.CheckDerived(derivedFields(all)); err != nil {
		return fmt.Errorf("%w Derived: %w", ErrOption, err)
	}
	for _, c := range schema {
		n := 0
		for _, name := range c.fields() {
			i := slices.IndexFunc(all, func(d Derived) bool { return d.Name == name })
			if i < 0 {
				continue
			}
			if n++; c.Varying || c.Width() != len(c.fields()) {
				return fmt.Errorf("%w %q: derived field %q has one value a row", ErrColumn, c.Name, name)
			}
			if all[i].Part == "" && len(all[i].Buckets) == 0 && c.Hash == 0 && c.texts == nil {
				return fmt.Errorf("%w %q: %q is a cross, which is a text: give the column a Hash", ErrColumn, c.Name,
					name)
			}
		}
		if c.HashNumbers && n > 0 && n == len(c.fields()) {
			return fmt.Errorf("%w %q: HashNumbers is for fields of files: derived ones are written one way", ErrColumn,
				c.Name)
		}
	}
	return nil
}

// sourcesOf returns the names of the files' fields from which derived fields are computed.
func sourcesOf(m *tokens.Maker) (names []string) {
	if m != nil {
		for _, s := range m.Sources {
			names = append(names, s.Name)
		}
	}
	return names
}

// makeFields computes the derived fields, if any, of a row whose sources are set.
func makeFields(m *tokens.Maker) error {
	if m == nil {
		return nil
	}
	if bad := m.Make(); bad != nil {
		return badField(bad.Field, bad.Want, bad.Got)
	}
	return nil
}
