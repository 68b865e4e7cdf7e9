package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
)

// Options say how pairs are made of a text. The same options make the same pairs.
type Options struct {
	Seed      uint64
	Window    int // the farthest distance of a pair's words; each word draws its own, up to this one
	Negatives int // candidates that are drawn for each pair
	// words more frequent than this are left out at random, the more so the more frequent; 0 leaves out none
	Subsample float64
}

// Pairs are the pairs of words that stand near each other (the skip-grams of Mikolov et al., 2013):
//
//	word       [N,1]            int64    a word
//	candidates [N,1+Negatives]  int64    a word near it, and words drawn by frequency^0.75
//
// A word of frequency f is kept with probability √(Subsample/f).
func (c *Corpus) Pairs(o Options) (*dataset.Dataset, error) {
	if o.Window < 1 || o.Negatives < 1 || o.Subsample < 0 {
		return nil, fmt.Errorf("corpus: a window of %d, %d negatives, subsampling at %v: the first two count from 1",
			o.Window, o.Negatives, o.Subsample)
	}
	noise, err := nn.NewUnigramSampler(c.Counts, 0.75)
	if err != nil {
		return nil, fmt.Errorf("corpus: no words: %w", err)
	}
	pairs := c.pairs(o)
	fill := func(i int, row dataset.Row) error {
		row.Ints(0)[0] = int64(pairs[i][0])
		row.Ints(1)[0] = int64(pairs[i][1])
		nn.Candidates(noise, rand.New(rand.NewPCG(o.Seed, uint64(i))), row.Ints(1), nil)
		return nil
	}
	return dataset.Generate(len(pairs), fill, dataset.Ints("word", 1), dataset.Ints("candidates", 1+o.Negatives)), nil
}

func (c *Corpus) pairs(o Options) (pairs [][2]int32) {
	r := rand.New(rand.NewPCG(o.Seed, 0x70616972))
	var kept []int32
	for _, line := range c.lines {
		kept = kept[:0]
		for _, w := range line {
			if r.Float64() < c.keep(w, o.Subsample) {
				kept = append(kept, w)
			}
		}
		for i, w := range kept {
			reach := 1 + r.IntN(o.Window)
			for j := max(0, i-reach); j <= min(len(kept)-1, i+reach); j++ {
				if j != i {
					pairs = append(pairs, [2]int32{w, kept[j]})
				}
			}
		}
	}
	return pairs
}

// keep is the probability that a word is not left out.
func (c *Corpus) keep(w int32, subsample float64) float64 {
	if subsample == 0 {
		return 1
	}
	return math.Sqrt(subsample * float64(c.total) / float64(c.Counts[w]))
}
