package dataset

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"sort"

	"gorgonia.org/tensor"
)

// Moments summarises some numbers. NaNs don't count.
type Moments struct {
	Count int
	Mean  float64
	// Variance is the mean of (x − Mean)².
	Variance float64
	Min, Max float64
}

// Std is the standard deviation, √Variance.
func (m Moments) Std() float64 { return math.Sqrt(m.Variance) }

// And returns the moments of both sets of numbers together.
func (m Moments) And(o Moments) Moments {
	if m.Count == 0 || o.Count == 0 {
		if m.Count == 0 {
			return o
		}
		return m
	}
	n := m.Count + o.Count
	share := float64(o.Count) / float64(n) // o's share
	between := o.Mean - m.Mean
	return Moments{
		Count:    n,
		Mean:     m.Mean + between*share,
		Variance: m.Variance*(1-share) + o.Variance*share + between*between*share*(1-share),
		Min:      min(m.Min, o.Min),
		Max:      max(m.Max, o.Max),
	}
}

// Moments computes the moments of a column over the rows of one pass: for a fixed column those of each value, in order;
// for a varying column those of all values together. An infinite number is an error. Changes by [Dataset.Map] are not
// included.
//
// Each of several workers may compute the moments of its own share, with MayBeEmpty if it may be empty; [MomentsOfAll]
// combines them.
func (d *Dataset) Moments(ctx context.Context, column string) ([]Moments, error) {
	c, err := d.find("Moments", column)
	if err != nil {
		return nil, err
	}
	of := d.Columns()[c]
	sums := make([]welford, max(of.Width(), 1))
	rows := d.Select(column)
	rows.maps, rows.dropLast = nil, false
	for batch, err := range rows.BatchesContext(ctx, loadRows) {
		if err == nil {
			err = addBatch(sums, batch, column)
		}
		if err != nil {
			return nil, fmt.Errorf("dataset: Moments(%q): %w", column, err)
		}
	}
	all := make([]Moments, len(sums))
	for i := range sums {
		all[i] = sums[i].moments()
	}
	return all, nil
}

// welford adds numbers one by one (Welford, "Note on a method for calculating corrected sums of squares and products",
// 1962).
type welford struct {
	Moments
	squares float64 // Count × Variance
}

func (w *welford) add(x float64) {
	if w.Count == 0 {
		w.Min, w.Max = x, x
	}
	w.Count++
	off := x - w.Mean
	w.Mean += off / float64(w.Count)
	w.squares += off * (x - w.Mean)
	w.Min, w.Max = min(w.Min, x), max(w.Max, x)
}

func (w *welford) moments() Moments {
	if w.Count > 0 {
		w.Variance = w.squares / float64(w.Count)
	}
	return w.Moments
}

func addBatch(sums []welford, batch Batch, column string) error {
	switch t := batch[column]; t.Dtype() {
	case tensor.Int64:
		addAll(sums, t.Int64s())
	case tensor.Uint64:
		addAll(sums, t.Uint64s())
	default:
		v := t.Float32s()
		if i := addAll(sums, v); i < len(v) {
			return fmt.Errorf("%s: a number is %v, which leaves no mean", placeOf(batch, column, i/len(sums)), v[i])
		}
	}
	return nil
}

// placeOf returns the origin of value i of a column, or of row i if the column has as many values in every row.
func placeOf(batch Batch, column string, i int) string {
	if offsets, varying := batch[column+".offsets"]; varying {
		ends := offsets.Int64s()[1:]
		i = sort.Search(len(ends), func(r int) bool { return ends[r] > int64(i) })
	}
	return cmp.Or(batch[column].Engine().(engine).Place(i), "a row")
}

// addAll adds the values in turn to the sums in turn, up to the first infinite one, and returns the number of values
// added.
func addAll[T value](sums []welford, values []T) int {
	at := 0
	for i, v := range values {
		x := float64(v)
		if math.IsInf(x, 0) {
			return i
		}
		if x == x {
			sums[at].add(x)
		}
		if at++; at == len(sums) {
			at = 0
		}
	}
	return len(values)
}

// MomentsOfAll combines the moments of all workers, of which each passes its own. All workers must call it, and get the
// same bits; in a job of several processes after InitWorker. Workers that have left the job are not included.
func MomentsOfAll(ctx context.Context, w Exchanger, own []Moments) ([]Moments, error) {
	message, err := json.Marshal(own)
	if err != nil {
		return nil, fmt.Errorf("dataset: MomentsOfAll: %w", err)
	}
	messages, err := w.AllGatherBytes(ctx, message)
	if err != nil {
		return nil, fmt.Errorf("dataset: MomentsOfAll: %w", err)
	}
	all := make([]Moments, len(own))
	for worker, message := range messages {
		if message == nil {
			continue
		}
		var its []Moments
		if err := json.Unmarshal(message, &its); err != nil {
			return nil, fmt.Errorf("dataset: MomentsOfAll: worker %d gave something else: all have to make the same "+
				"calls: %w", worker, err)
		}
		if len(its) != len(own) {
			return nil, fmt.Errorf("dataset: MomentsOfAll: worker %d gave %d moments, this one %d: all have to give "+
				"those of one column", worker, len(its), len(own))
		}
		for i := range all {
			all[i] = all[i].And(its[i])
		}
	}
	return all, nil
}
