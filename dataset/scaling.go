package dataset

import (
	"fmt"
	"math"
)

// Scaling scales a number x to
//
//	(f(x) − Mean) / Std    where f(x) is x, or ln(1 + max(x, 0)) with Log1p
//
// in float64, for feeding a model. [Dataset.Moments] computes Mean and Std of the training rows, and
// [CSVColumn.Standardize] sets them.
type Scaling struct {
	// Log1p takes the logarithm first, as [Criteo]'s does.
	Log1p bool
	Mean  float64
	// Std is the standard deviation; 0 counts as 1, so that a number that is the same in all rows becomes 0.
	Std float64
}

// Of returns x scaled. NaN stays NaN.
func (s Scaling) Of(x float32) float32 {
	y := float64(x)
	if s.Log1p {
		y = math.Log1p(max(y, 0))
	}
	y -= s.Mean
	if s.Std != 0 {
		y /= s.Std
	}
	return float32(y)
}

// Inverse returns the number that Of scales to y.
func (s Scaling) Inverse(y float64) float64 {
	if s.Std != 0 {
		y *= s.Std
	}
	if y += s.Mean; s.Log1p {
		y = math.Expm1(y)
	}
	return y
}

func (s Scaling) check() error {
	if math.IsNaN(s.Mean) || math.IsInf(s.Mean, 0) {
		return fmt.Errorf("Mean is %v: want a finite number", s.Mean)
	}
	if !(s.Std >= 0) || math.IsInf(s.Std, 0) {
		return fmt.Errorf("Std is %v: want a finite number above 0, or 0 to divide by nothing", s.Std)
	}
	return nil
}

func (c CSVColumn) checkScale() error {
	n := len(c.Scale)
	switch {
	case n > 0 && c.kind() != floatKind:
		return fmt.Errorf("%w %q: Scale is for a column of Floats, and this one holds %v", ErrColumn, c.Name, c.Type)
	case n > 1 && n != c.Width():
		return fmt.Errorf("%w %q: Scale has %d scalings: want %s", ErrColumn, c.Name, n, c.places())
	}
	for i, s := range c.Scale {
		if err := s.check(); err != nil {
			return fmt.Errorf("%w %q: Scale[%d]: %w", ErrColumn, c.Name, i, err)
		}
	}
	return nil
}

// places describes how many scalings the column may have.
func (c CSVColumn) places() string {
	if c.Varying || c.Width() == 1 {
		return "one"
	}
	return fmt.Sprintf("one for all, or %d, one for each value of a row", c.Width())
}

// Standardize returns the column with a Scale that gives its numbers mean 0 and standard deviation 1. The moments must
// be those of rows read with the column's current Scale: none, or one with Log1p.
//
//	moments, err := dataset.FromFiles(format, "train.csv").Moments(ctx, "dense_input")
//	format.Schema[0], err = format.Schema[0].Standardize(moments)
//
// Missing numbers that are read as "NaN" are not in the moments; set Missing afterwards.
func (c CSVColumn) Standardize(moments []Moments) (CSVColumn, error) {
	if err := c.checkValues(); err != nil {
		return c, err
	}
	if want := max(c.Width(), 1); len(moments) != want {
		return c, fmt.Errorf("%w %q: Standardize: %d moments for %d values a row: give it what Dataset.Moments says "+
			"of this column", ErrColumn, c.Name, len(moments), want)
	}
	scale := make([]Scaling, len(moments))
	for i, m := range moments {
		if m.Count == 0 {
			return c, fmt.Errorf("%w %q: Standardize: no row has a number in %s, which nothing can be learned from: "+
				"leave it out", ErrColumn, c.Name, c.origin(i))
		}
		if n := len(c.Scale); n > 0 {
			scale[i] = c.Scale[i%n]
		}
		scale[i] = scale[i].then(m)
	}
	c.Scale = scale
	return c, c.checkScale()
}

// origin names the source of a place of the column: a field, or a value of a field with several.
func (c CSVColumn) origin(place int) string {
	fields := c.fields()
	share := c.Width() / max(len(fields), 1)
	switch field := place / max(share, 1); {
	case field >= len(fields):
		return fmt.Sprintf("place %d", place)
	case share > 1:
		return fmt.Sprintf("value %d of field %q", place%share, fields[field])
	default:
		return fmt.Sprintf("field %q", fields[field])
	}
}

// then returns the scaling that applies s and then standardizes.
func (s Scaling) then(m Moments) Scaling {
	std := s.Std
	if std == 0 {
		std = 1
	}
	return Scaling{Log1p: s.Log1p, Mean: s.Mean + std*m.Mean, Std: std * m.Std()}
}
