package histogram

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestNow: the mean as scores come is that of all scores so far, also when a sample is halved, and after a reset.
func TestNow(t *testing.T) {
	for name, of := range map[string]Rule{"AUC": AUCs, "gain": Gains(2), "reciprocal": Reciprocals} {
		halved := 0
		for seed := range uint64(40) {
			r := rand.New(rand.NewPCG(seed, 2))
			s := Scores{Most: 1 + r.IntN(200), Sampled: true}
			for batch := range 60 {
				if r.IntN(20) == 0 {
					s.Reset()
				}
				for range r.IntN(20) {
					group := int64(r.ExpFloat64() * 8)
					if name == "AUC" {
						s.Add(group, float32(r.IntN(8))/8, r.IntN(3) == 0, 1)
					} else {
						s.AddRanked(group, float32(r.IntN(8))-4, float32(max(0, r.IntN(5)-2)))
					}
				}
				halved = max(halved, s.halved)
				if r.IntN(3) == 0 {
					continue // several batches between two looks
				}
				now, mean := s.Now(of), s.Mean(of)
				if math.Abs(now-mean) > 1e-9 || math.IsNaN(now) != math.IsNaN(mean) {
					t.Fatalf("%s, seed %d, batch %d of at most %d scores: %v, want %v", name, seed, batch, s.Most, now, mean)
				}
			}
		}
		if halved == 0 {
			t.Errorf("%s: no sample was halved", name)
		}
	}
}
