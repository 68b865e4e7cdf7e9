package verdict

import "math"

// Bucket is the rows with similar predicted probabilities.
type Bucket struct {
	Rows                float64
	Predicted, Observed float64 // the mean probability, and the share of rows with label 1
}

// mostBuckets is the number of buckets; there are fewer if many rows have the same probability.
const mostBuckets = 10

// Calibration returns buckets of nearly equal size, from the smallest probabilities to the largest, and the expected
// calibration error: the distance between predicted and observed rates, averaged over all rows (Naeini, Cooper and
// Hauskrecht, 2015, with buckets of equal size). It is NaN without rows.
func (t *Tally) Calibration() (buckets []Bucket, expectedError float64) {
	all := 0.0
	for b := range bins {
		all += t.Sums[b*columns+rows]
	}
	behind, open := 0.0, Bucket{}
	for b := range bins {
		bin := t.Sums[b*columns:]
		open.Rows += bin[rows]
		open.Predicted += bin[chanced]
		open.Observed += bin[labels]
		if open.Rows == 0 || behind+open.Rows < math.Floor(1+behind*mostBuckets/all)*all/mostBuckets {
			continue
		}
		behind += open.Rows
		expectedError += math.Abs(open.Predicted-open.Observed) / all
		buckets = append(buckets, Bucket{open.Rows, open.Predicted / open.Rows, open.Observed / open.Rows})
		open = Bucket{}
	}
	if all == 0 {
		return nil, math.NaN()
	}
	return buckets, expectedError
}
