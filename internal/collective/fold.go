package collective

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/progress"
)

// Op is how the ranks' elements become one.
type Op uint8

const (
	// Sum adds in the order of ranks.
	Sum Op = iota + 1
	// Max takes the largest; NaN wins.
	Max
	// Min takes the smallest; NaN wins.
	Min
	// mean is Σ wᵢxᵢ / Σ wᵢ over the ranks' weights, each factor rounded to float32.
	mean
	// opFirst takes the root's.
	opFirst
	// opGather reduces nothing.
	opGather
)

func (o Op) String() string {
	switch o {
	case Sum:
		return "sum"
	case Max:
		return "max"
	case Min:
		return "min"
	case mean:
		return "mean"
	case opFirst:
		return "broadcast"
	case opGather:
		return "gather"
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// Part is a rank's share in a mean.
type Part struct {
	// Weight is that of the rank's elements, usually its number of samples. A rank of weight 0 sends none.
	Weight uint32
	// Ended says that the rank has nothing more to bring in this epoch.
	Ended bool
	// News says that the rank has something to say, which takes a collective of its own.
	News bool
	// At is how far the rank is in its data with the part; zero says nothing.
	At progress.Position
}

// Members is what the ranks' parts were together.
type Members struct {
	// Weight of all ranks.
	Weight uint64
	// Ended is how many ranks have ended their epoch.
	Ended int
	// News says that some rank has something to say.
	News bool
	// At is how far each rank is in its data with its part.
	At []progress.Position
}

// factors are the weights as parts of their sum, by rank; all 0 when no rank has any.
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

// tile is how many elements are folded at a time: few enough for the innermost cache.
const tile = 2048

// foldInto sets dst to the parts' elements, folded in the order of ranks. A part is nil where the rank has nothing to
// say.
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

// start sets dst to the first part.
func start[E Element](dst, x []E, op Op, factor float32) {
	copy(dst, x)
	if op == mean {
		kernels.Scale(factor, any(dst).([]float32))
	}
}

// join folds x into dst. A product is rounded before it is added, as in a server, so that both give the same bits.
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
