package check

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
)

// readings are the contents of rows.
type readings struct {
	count  int
	feeds  map[string]*reading
	hashes map[uint64]alike    // of rows' inputs
	labels int                 // rows with one label
	known  map[string]*reading // of rows that were read before
}

// alike are rows with the same inputs.
type alike struct {
	n     int
	label float64 // of the first
	mixed bool    // another has another label
}

// readFeeds reads the rows once. known is the contents of rows that were read before, to find values that are new.
func readFeeds(ctx context.Context, rows *dataset.Dataset, g graph, known map[string]*reading) (readings, error) {
	r := readings{feeds: map[string]*reading{}, hashes: map[uint64]alike{}, known: known}
	for batch, err := range rows.Prefetch(2).BatchesContext(ctx, atOnce(rows)) {
		if err == nil {
			err = r.add(batch, g)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// atOnce is the number of rows that are read at once, fewer if they are wide.
func atOnce(rows *dataset.Dataset) int {
	width := 1
	for _, c := range rows.Columns() {
		width += c.Width()
	}
	return min(max(1<<20/width, 8), 4096)
}

// add adds the rows of a batch.
func (r *readings) add(batch dataset.Batch, g graph) error {
	labels := labelsOf(batch, g)
	hashes := make([]uint64, 0, 4096)
	for _, name := range g.feeds {
		t, offsets := batch[name], batch[name+".offsets"]
		if t == nil {
			return fmt.Errorf("they have no column %q, which the loss is computed from", name)
		}
		begins := beginnings(t, offsets)
		if r.feeds[name] == nil {
			numbers := t.Dtype() == tensor.Float32
			width := 1 // the numbers of a slot are one column
			if offsets == nil {
				width = max(width, begins[1]-begins[0])
			}
			r.feeds[name] = newReading(!numbers, offsets != nil, width)
		}
		hashes = append(hashes, make([]uint64, max(0, len(begins)-1-len(hashes)))...)
		mixed := hashes
		if slices.Contains(g.labels, name) { // rows with the same inputs are the same
			mixed = make([]uint64, len(hashes))
		}
		r.feeds[name].add(t, begins, r.count, labels, mixed, r.known[name])
	}
	for i, h := range hashes {
		a := r.hashes[h]
		if a.n++; labels != nil && a.n == 1 {
			a.label = labels[i]
		} else if labels != nil {
			a.mixed = a.mixed || a.label != labels[i]
		}
		r.hashes[h] = a
	}
	r.count, r.labels = r.count+len(hashes), r.labels+len(labels)
	return nil
}

// beginnings are where the values of each row begin, and where those of the last row end.
func beginnings(t, offsets *tensor.Dense) []int {
	if offsets != nil {
		var begins []int
		for _, o := range offsets.Int64s() {
			begins = append(begins, int(o))
		}
		return begins
	}
	rows := t.Shape()[0]
	begins := make([]int, rows+1)
	for i := range begins {
		begins[i] = i * (t.Shape().TotalSize() / rows)
	}
	return begins
}

// add adds a feed's values of rows from row from on, with the label of each, and mixes them into the rows' hashes.
func (f *reading) add(t *tensor.Dense, begins []int, from int, labels []float64, hashes []uint64, known *reading) {
	var one func(i, col int, label float64) (bits uint64)
	switch t.Dtype() {
	case tensor.Float32:
		v := t.Float32s()
		one = func(i, col int, label float64) uint64 {
			f.number(v[i], min(col, len(f.columns)-1), label)
			return uint64(math.Float32bits(v[i]))
		}
	case tensor.Int64:
		v := t.Int64s()
		one = func(i, _ int, label float64) uint64 { return f.id(uint64(v[i]), label) }
	default:
		v := t.Uint64s()
		one = func(i, _ int, label float64) uint64 { return f.id(v[i], label) }
	}
	for row := range len(begins) - 1 {
		f.row = from + row
		label, h := 0.0, hashes[row]
		if labels != nil {
			label = labels[row]
		}
		for i := begins[row]; i < begins[row+1]; i++ {
			bits := one(i, i-begins[row], label)
			f.at(i-begins[row], bits, known)
			h = (h ^ bits) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		hashes[row] = h
	}
}

// labelsOf are the labels of rows with one number each, else nil.
func labelsOf(batch dataset.Batch, g graph) []float64 {
	if len(g.labels) != 1 || batch[g.labels[0]] == nil {
		return nil
	}
	t := batch[g.labels[0]]
	if t.Shape().TotalSize() != t.Shape()[0] {
		return nil
	}
	labels := make([]float64, t.Shape()[0])
	for i := range labels {
		switch v := t.Data().(type) {
		case []float32:
			labels[i] = float64(v[i])
		case []int64:
			labels[i] = float64(v[i])
		}
	}
	return labels
}
