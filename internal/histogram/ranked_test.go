package histogram

import (
	"math/rand/v2"
	"testing"
)

// TestAUCAsScoresCome: the AUC after each batch has the bits of all scores sorted: of scores that are near, equal or far
// apart, that come in order or not, after a reset, and with weights.
func TestAUCAsScoresCome(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		s, apart, looks := Scores{Most: 5000}, 1<<(4*(seed%5)), 0
		for batch := range 60 {
			if r.IntN(80) == 0 {
				s.Reset()
			}
			for range r.IntN(120) {
				p, weight := float32(r.IntN(apart))/float32(apart), 1.0
				switch seed % 4 {
				case 0:
					p = float32(batch) / 64
				case 1:
					p = 1 - float32(batch)/64
				}
				if seed%7 == 0 {
					weight = r.Float64()
				}
				s.Add(0, p, r.IntN(3) == 0, weight)
			}
			got, known := s.AUC()
			all := append([]scored(nil), s.rows...)
			merge(all, 0, nil)
			area, pos, neg := areaOf(all)
			if known != (pos*neg > 0) || known && got != area/(pos*neg) {
				t.Fatalf("seed %d, batch %d: %v, %t, want %v of %v × %v", seed, batch, got, known, area, pos, neg)
			}
			if known {
				looks++
			}
		}
		if looks < 30 {
			t.Errorf("seed %d: an AUC after %d of 60 batches", seed, looks)
		}
	}
}
