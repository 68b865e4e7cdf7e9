package mode

import "fmt"

// Weighting says how much each worker's mean gradient counts in a round's update.
type Weighting int

const (
	// BySamples weighs by number of samples: the update of the joined batch, whatever its cut.
	BySamples Weighting = iota
	// Equally gives every member of the round the same weight, as the original's first generation does.
	Equally
	// ByPushes weighs dense gradients equally, and divides each row's sum by the number of workers that pushed that row, as
	// the original's later generations do.
	ByPushes
)

// ParseWeighting reads a strategy's name for it: "samples" (also ""), "equal", "pushes".
func ParseWeighting(name string) (Weighting, error) {
	switch name {
	case "", "samples":
		return BySamples, nil
	case "equal":
		return Equally, nil
	case "pushes":
		return ByPushes, nil
	}
	return 0, fmt.Errorf("mode: unknown weighting %q (known: samples, equal, pushes)", name)
}

// Factors appends each member's factor to dst; samples are theirs, in the round's order.
func (w Weighting) Factors(dst []float32, samples []int) []float32 {
	total := 0
	for _, n := range samples {
		total += n
	}
	for _, n := range samples {
		if w == BySamples && total > 0 {
			dst = append(dst, float32(float64(n)/float64(total)))
		} else {
			dst = append(dst, float32(1/float64(len(samples))))
		}
	}
	return dst
}

// FoldDense sets dst to the weighted sum of the members' gradients, in their order.
func FoldDense(dst []float32, gradients [][]float32, factors []float32) {
	for m, g := range gradients {
		f := factors[m]
		if m == 0 {
			for i, v := range g {
				dst[i] = f * v
			}
			continue
		}
		for i, v := range g {
			dst[i] += float32(f * v) // rounded before it is added, on every machine
		}
	}
}
