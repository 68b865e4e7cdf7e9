package histogram

import "math"

// OddsBuckets is how many buckets a histogram has that are even in the logarithm of the odds p/(1−p), 1,024 to each
// doubling: from odds of 2⁻⁴⁰, below which all are in the first bucket, to 2²⁴, above which there is 1 alone. Rare
// events have scores near 0, which buckets even in p don't tell apart. A histogram of any other number of buckets is
// even in p.
const OddsBuckets = 1 << 16

const (
	oddsShift  = 13                      // leaves 10 bits of a float32's mantissa
	leastOdds  = (127 - 40) << (23 - 13) // the bits of 2⁻⁴⁰ that are left
	halfBucket = 1 << (oddsShift - 1)
)

// Odds is the bucket of a probability, of OddsBuckets.
func Odds(p float32) int {
	p += 0 // of −0 too
	return min(max(int(math.Float32bits(p/(1-p))>>oddsShift)-leastOdds, 0), OddsBuckets-1)
}

// probability is what bucket i of so many stands for.
func probability(i, buckets int) float64 {
	if buckets != OddsBuckets {
		return float64(i) / float64(buckets)
	}
	odds := float64(math.Float32frombits(uint32(i+leastOdds)<<oddsShift | halfBucket))
	return odds / (1 + odds)
}
