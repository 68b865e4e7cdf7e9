package histogram

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// counts is a histogram of so many buckets, with positives and negatives in some of them.
func counts(buckets int, at map[int][2]int64) (pos, neg []int64) {
	pos, neg = make([]int64, buckets), make([]int64, buckets)
	for i, n := range at {
		pos[i], neg[i] = n[0], n[1]
	}
	return pos, neg
}

// TestBucketErrorByHand are histograms whose bucket error takes a pencil.
func TestBucketErrorByHand(t *testing.T) {
	for _, c := range []struct {
		name    string
		buckets int
		at      map[int][2]int64
		want    float64
	}{
		// With ten buckets none is joined. 0.5 has 300 of 800: off by 0.25. 0.8 has 91 of 101: off by 12.75/101. Three examples at
		// 0.9 tell nothing, and what is predicted to be impossible is never known.
		{"alone", 10, map[int][2]int64{0: {5, 5000}, 5: {300, 500}, 8: {91, 10}, 9: {3, 0}}, (0.25*800 + 12.75) / 901},
		// 0.1 and 0.105 are known together only: 500 of 4000, 0.125 for 0.1025. 0.111 is too far away to join the next ones.
		{"joined", 1000, map[int][2]int64{100: {150, 1850}, 105: {350, 1650}, 111: {10, 1990}}, 9.0 / 41},
		// 0.1 and 0.112 are more than 0.01 apart, so neither is ever known.
		{"apart", 1000, map[int][2]int64{100: {150, 1850}, 112: {350, 1650}}, 0},
		// A group that is known ends there: 0.5 is right, and 0.501 is another, 100 % off.
		{"ended", 1000, map[int][2]int64{500: {500, 500}, 501: {1002, 0}}, (1/0.501 - 1) * 1002 / 2002},
		// A score of 1 is in the last bucket, which stands for 0.9: two examples are not enough.
		{"certain", 10, map[int][2]int64{9: {0, 2}}, 0},
		{"nothing", 10, nil, 0},
		{"no buckets", 0, nil, 0},
	} {
		pos, neg := counts(c.buckets, c.at)
		if got := BucketError(pos, neg); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// bucketError64 is the twin: from each beginning it tries every end within the span, adding the buckets up anew.
func bucketError64(pos, neg []int64) float64 {
	n := float64(len(pos))
	var errs, count float64
	for begin := 0; begin < len(pos); {
		end := begin
		for ; end < len(pos) && float64(end)/n-float64(begin)/n <= 0.01; end++ {
			var k, predicted, clicks float64
			for i := begin; i <= end; i++ {
				k += float64(pos[i] + neg[i])
				predicted += float64(i) / n * float64(pos[i]+neg[i])
				clicks += float64(pos[i])
			}
			if q := predicted / k; q > 0 && math.Sqrt((1-q)/(q*k)) < 0.05 {
				errs += math.Abs(clicks/k/q-1) * k
				count += k
				end++
				break
			}
		}
		begin = end
	}
	if count == 0 {
		return 0
	}
	return errs / count
}

func TestBucketErrorIsItsTwin(t *testing.T) {
	known := 0
	rapid.Check(t, func(t *rapid.T) {
		buckets := rapid.SampledFrom([]int{1, 7, 99, 100, 101, 450, 2000}).Draw(t, "buckets")
		number := rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 20), rapid.Int64Range(0, 3000))
		at := rapid.MapOf(rapid.IntRange(0, buckets-1), rapid.Custom(func(t *rapid.T) [2]int64 {
			return [2]int64{number.Draw(t, "pos"), number.Draw(t, "neg")}
		})).Draw(t, "at")
		pos, neg := counts(buckets, at)
		got, want := BucketError(pos, neg), bucketError64(pos, neg)
		if math.Abs(got-want) > 1e-9*max(1, want) {
			t.Fatalf("%v, the twin has %v", got, want)
		}
		if got > 0 {
			known++
		}
	})
	if known == 0 {
		t.Error("no histogram had a group that is known")
	}
}
