package gradient

import "github.com/gofleet/gofleet/strategy"

// Factors appends to dst the factor of each member's mean gradient in a round's mean; samples holds each member's
// number of samples. The factors' sum is 1. Without a weighting they are proportional to samples. Members count the
// same if none has samples.
func Factors(dst []float32, w strategy.Weighting, samples []int) []float32 {
	total := 0
	for _, n := range samples {
		total += n
	}
	even := w == strategy.WeightEqual || w == strategy.WeightPushes || total == 0
	for _, n := range samples {
		if even {
			dst = append(dst, float32(1/float64(len(samples))))
		} else {
			dst = append(dst, float32(float64(n)/float64(total)))
		}
	}
	return dst
}

// FoldDense sets dst to the weighted sum of the members' gradients, added in their order.
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
