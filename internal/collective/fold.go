package collective

import (
	"cmp"
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/progress"
)

// Op is the operation that reduces the ranks' elements to one.
type Op uint8

const (
	// Sum adds the elements in the order of ranks.
	Sum Op = iota + 1
	// Max takes the largest element; NaN if there is one.
	Max
	// Min takes the smallest element; NaN if there is one.
	Min
	// mean is Σ wᵢxᵢ / Σ wᵢ over the ranks' weights, each factor rounded to float32.
	mean
	// opFirst takes the root's element.
	opFirst
	// opGather reduces nothing.
	opGather
)

var opNames = map[Op]string{Sum: "sum", Max: "max", Min: "min", mean: "mean", opFirst: "broadcast", opGather: "gather"}

func (o Op) String() string { return cmp.Or(opNames[o], fmt.Sprintf("op %d", uint8(o))) }

// Part describes a rank's contribution to a mean.
type Part struct {
	// Weight is the weight of the rank's elements, usually its number of samples. A rank of weight 0 sends no elements.
	Weight uint32
	// Ended says that the rank has no more batches in this epoch.
	Ended bool
	// News says that the rank has a message for the others, which takes a collective of its own.
	News bool
	// At is the rank's position in its data after this part; zero says nothing.
	At progress.Position
}

// Members sums up the parts of all ranks.
type Members struct {
	// Weight is the sum of all ranks' weights.
	Weight uint64
	// Ended is how many ranks have ended their epoch.
	Ended int
	// News says that some rank has a message for the others.
	News bool
	// At holds, by rank, the position in its data after its part.
	At []progress.Position
}

// factors returns the weights divided by their sum, by rank; all 0 if the sum is 0.
func factors(parts []Part) []float32 {
	total, f := 0.0, make([]float32, len(parts))
	for _, p := range parts {
		total += float64(p.Weight)
	}
	for i, p := range parts {
		if p.Weight > 0 {
			f[i] = float32(float64(p.Weight) / total)
		}
	}
	return f
}

// tile is how many elements are folded at a time, few enough for the innermost cache.
const tile = 2048

// Fold is what an all-reduce makes of parts that have come another way, by rank, into dst; nil if a rank has none.
func Fold[E Element](dst []E, parts [][]E, op Op) {
	foldInto(dst, parts, op, 0, make([]float32, len(parts)))
}

// foldInto sets dst to the parts' elements, reduced by op in the order of ranks. The part of a rank that sends nothing
// is nil.
func foldInto[E Element](dst []E, parts [][]E, op Op, root int, factor []float32) {
	for at := 0; at < len(dst); at += tile {
		to := min(len(dst), at+tile)
		first := true
		for r, p := range parts {
			if p == nil || op == opFirst && r != root {
				continue
			}
			if first {
				start(dst[at:to], p[at:to], op, factor[r])
			} else {
				join(dst[at:to], p[at:to], op, factor[r])
			}
			first = false
		}
		if first {
			clear(dst[at:to])
		}
	}
}

// start sets dst to the first part x, times factor in a mean.
func start[E Element](dst, x []E, op Op, factor float32) {
	copy(dst, x)
	if op == mean {
		kernels.Scale(factor, any(dst).([]float32))
	}
}

// join reduces dst and x into dst. A product is rounded before it is added, as on a server, so that both give the same
// bits.
func join[E Element](dst, x []E, op Op, factor float32) {
	switch op {
	case mean:
		var scaled [tile]float32
		s := scaled[:len(x)]
		copy(s, any(x).([]float32))
		kernels.Scale(factor, s)
		d := any(dst).([]float32)
		kernels.Add(d, d, s)
	case Sum:
		add(dst, x)
	case Max:
		for i, v := range x {
			dst[i] = max(dst[i], v)
		}
	case Min:
		for i, v := range x {
			dst[i] = min(dst[i], v)
		}
	}
}

func add[E Element](dst, x []E) {
	if d, ok := any(dst).([]float32); ok {
		kernels.Add(d, d, any(x).([]float32))
		return
	}
	for i, v := range x {
		dst[i] += v
	}
}
