package histogram

import "math"

// OddsBuckets is the number of buckets of a histogram that is even in the logarithm of the odds p/(1−p), with 1,024
// buckets to each doubling: from odds of 2⁻⁴⁰, below which all scores are in the first bucket, to 2²⁴, above which
// there is only p = 1. Rare events have scores near 0, which buckets even in p don't tell apart. A histogram with any
// other number of buckets is even in p.
const OddsBuckets = 1 << 16

const (
	oddsShift  = 13                      // leaves 10 bits of a float32's mantissa
	leastOdds  = (127 - 40) << (23 - 13) // the remaining bits of 2⁻⁴⁰
	halfBucket = 1 << (oddsShift - 1)
)

// Odds returns the bucket of a probability, below OddsBuckets. The last bucket is of 1 alone.
func Odds(p float32) int {
	p += 0 // turns −0 into 0
	if p == 1 {
		return OddsBuckets - 1
	}
	return min(max(int(math.Float32bits(p/(1-p))>>oddsShift)-leastOdds, 0), OddsBuckets-2)
}

// probability returns the probability that bucket i of so many stands for.
func probability(i, buckets int) float64 {
	if buckets != OddsBuckets {
		return float64(i) / float64(buckets)
	}
	odds := float64(math.Float32frombits(uint32(i+leastOdds)<<oddsShift | halfBucket))
	return odds / (1 + odds)
}
