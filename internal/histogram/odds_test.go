package histogram

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestOdds: buckets rise with the probability, and stand for one that is near it.
func TestOdds(t *testing.T) {
	for p, want := range map[float32]int{0: 0, 1e-30: 0, 0x1p-40: 0, 0.5: 40 << 10, 1 - 0x1p-24: 64<<10 - 2, 1: 64<<10 - 1, 0x1p-20: 20 << 10} {
		if got := Odds(p); got != want {
			t.Errorf("%v is in bucket %d, want %d", p, got, want)
		}
	}
	if got := Odds(float32(math.Copysign(0, -1))); got != 0 {
		t.Errorf("−0 is in bucket %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		p := float32(math.Exp(rapid.Float64Range(-27, 0).Draw(t, "ln p")))
		up := math.Nextafter32(p, 1)
		at := Odds(p)
		if at > Odds(up) || at > 1<<10 && p < 1-0x1p-20 && math.Abs(probability(at, OddsBuckets)/float64(p)-1) > 1e-3 {
			t.Fatalf("%v is in bucket %d, which stands for %v; the next number in %d", p, at, probability(at, OddsBuckets), Odds(up))
		}
	})
}

// TestBucketErrorOfOdds: buckets of odds stand for their probabilities, also far below those of 4096 even ones.
func TestBucketErrorOfOdds(t *testing.T) {
	for _, p := range []float32{1e-5, 0.01, 0.5, 0.9} {
		pos, neg := make([]int64, OddsBuckets), make([]int64, OddsBuckets)
		pos[Odds(p)], neg[Odds(p)] = int64(2e9*p), int64(1e9-2e9*float64(p)) // twice as many as predicted
		if neg[Odds(p)] < 0 {
			pos[Odds(p)], neg[Odds(p)] = int64(1e9*p), int64(1e9-1e9*float64(p))
		}
		want := math.Abs(float64(pos[Odds(p)])/1e9/float64(p) - 1)
		if got := BucketError(pos, neg); math.Abs(got-want) > 2e-3 {
			t.Errorf("at %v: %v, want %v", p, got, want)
		}
	}
}
