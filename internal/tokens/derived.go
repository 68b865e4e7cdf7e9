package tokens

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Derived is a derived field: with Part a part of a time, with Buckets a bucket of a number, with neither a cross
// of several fields.
type Derived struct {
	Name    string
	From    []string
	Part    Part
	Layout  string
	Buckets []float64
}

// CheckDerived returns an error if a field is not valid. Each may be derived from those before it.
func CheckDerived(fields []Derived) error {
	for i, f := range fields {
		if err := f.check(); err != nil {
			return fmt.Errorf("%q: %w", f.Name, err)
		}
		if slices.ContainsFunc(fields[:i], func(other Derived) bool { return other.Name == f.Name }) {
			return fmt.Errorf("%q: two have that name", f.Name)
		}
	}
	return nil
}

func (f *Derived) check() error {
	switch {
	case f.Name == "" || slices.Contains(f.From, ""):
		return errors.New("it needs a Name, and From the names of fields")
	case f.Part != "" && len(f.Buckets) > 0:
		return errors.New("Part is of a time, and Buckets are of a number: set one of them")
	case (f.Part != "" || len(f.Buckets) > 0) && len(f.From) != 1:
		return fmt.Errorf("From has %d fields: Part and Buckets are of one", len(f.From))
	case f.crosses() && len(f.From) < 2:
		return fmt.Errorf("From has %d fields: want two or more, which are crossed, or Part or Buckets of one",
			len(f.From))
	case f.Part == "" && f.Layout != "":
		return fmt.Errorf("Layout is %q, and no Part of a time is asked for", f.Layout)
	case f.Part != "":
		return f.Part.check(f.Layout)
	}
	for i, b := range f.Buckets {
		if math.IsNaN(b) || math.IsInf(b, 0) || i > 0 && b <= f.Buckets[i-1] {
			return fmt.Errorf("Buckets are %v: want boundaries that rise", f.Buckets)
		}
	}
	return nil
}

// crosses reports whether the field is a cross.
func (f *Derived) crosses() bool { return f.Part == "" && len(f.Buckets) == 0 }

// bucket returns the bucket of a number: how many boundaries are not above it.
func (f *Derived) bucket(text []byte) (int64, bool) {
	x, ok := number(text)
	return int64(sort.Search(len(f.Buckets), func(i int) bool { return f.Buckets[i] > x })), ok
}
