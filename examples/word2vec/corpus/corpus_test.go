package corpus

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
)

func TestRead(t *testing.T) {
	c, err := Read(strings.NewReader("The cat saw the dog\n\nalone\nthe Dog ran\n"), 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"the", "dog"}; !slices.Equal(c.Words, want) || !slices.Equal(c.Counts, []int64{3, 2}) || c.total != 5 {
		t.Errorf("words %q, counts %v of %d", c.Words, c.Counts, c.total)
	}
	if want := [][]int32{{0, 0, 1}, {0, 1}}; !reflect.DeepEqual(c.lines, want) {
		t.Errorf("the text is %v, want %v", c.lines, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"fewer than two words": "a b c\n",
		"line 2":               "a a\n" + strings.Repeat("x", maxLine+1) + "\n",
	} {
		if _, err := Read(strings.NewReader(text), 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestGenerate: the text is the same again, has every topic, and its sentences are about one.
func TestGenerate(t *testing.T) {
	c, again, other := Generate(1, 2000), Generate(1, 2000), Generate(2, 2000)
	if !reflect.DeepEqual(c, again) || reflect.DeepEqual(c, other) {
		t.Error("the text is no function of the seed")
	}
	if len(topics) != Topics {
		t.Errorf("there are %d topics", len(topics))
	}
	seen := map[string]bool{}
	about, words := 0, 0
	for _, line := range c.lines {
		counts := map[string]int{}
		for _, w := range line {
			if topic, ok := Topic(c.Words[w]); ok {
				counts[topic]++
				seen[topic] = true
				words++
			}
		}
		most := 0
		for _, n := range counts {
			most = max(most, n)
		}
		about += most
	}
	if len(seen) != Topics {
		t.Errorf("the text has %d topics", len(seen))
	}
	if share := float64(about) / float64(words); math.Abs(share-(1-strayShare/(1-commonShare))) > 0.03 {
		t.Errorf("%.3f of a sentence's words are of one topic", share)
	}
	if !slices.IsSortedFunc(c.Counts, func(a, b int64) int { return int(b - a) }) {
		t.Error("words are not in the order of their counts")
	}
}

func TestTopic(t *testing.T) {
	for word, want := range map[string]string{"sea-3": "sea", "the": "", "well-known": ""} {
		if got, ok := Topic(word); ok != (want != "") || ok && got != want {
			t.Errorf("%s is about %q, %v", word, got, ok)
		}
	}
}

// TestPairs: with a window of 1 and nothing left out they are the neighbours, in both directions.
func TestPairs(t *testing.T) {
	c, err := Read(strings.NewReader("a b c\nb a\n"), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for batch, err := range rows(t, c, Options{Seed: 1, Window: 1, Negatives: 3}).Batches(2) {
		if err != nil {
			t.Fatal(err)
		}
		words, candidates := batch["word"].Int64s(), batch["candidates"].Int64s()
		for i, w := range words {
			got[c.Words[w]+c.Words[candidates[4*i]]]++
			for _, n := range candidates[4*i+1 : 4*i+4] {
				if n < 0 || n >= 3 {
					t.Errorf("candidate %d of three words", n)
				}
			}
		}
	}
	if want := map[string]int{"ab": 2, "ba": 2, "bc": 1, "cb": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("pairs are %v, want %v", got, want)
	}
}

func rows(t *testing.T, c *Corpus, o Options) *dataset.Dataset {
	t.Helper()
	d, err := c.Pairs(o)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestPairsAreTheSameAgain in another order too, and others under another seed.
func TestPairsAreTheSameAgain(t *testing.T) {
	c := Generate(1, 200)
	print := func(seed uint64) (all []string) {
		for batch, err := range rows(t, c, Options{Seed: seed, Window: 4, Negatives: 2, Subsample: 1e-3}).Shuffle(seed).Batches(7) {
			if err != nil {
				t.Fatal(err)
			}
			words, candidates := batch["word"].Int64s(), batch["candidates"].Int64s()
			for i, w := range words {
				all = append(all, fmt.Sprint(w, candidates[3*i:3*i+3]))
			}
		}
		slices.Sort(all)
		return all
	}
	if !slices.Equal(print(1), print(1)) || slices.Equal(print(1), print(2)) {
		t.Error("pairs are no function of the seed")
	}
}

// TestSubsampling leaves out the most frequent words by their formula.
func TestSubsampling(t *testing.T) {
	c := Generate(1, 3000)
	for w, n := range c.Counts[:3] {
		share := float64(n) / float64(c.total)
		if got, want := c.keep(int32(w), 1e-3), math.Sqrt(1e-3/share); math.Abs(got-want) > 1e-12 || got > 0.5 {
			t.Errorf("word %d of frequency %v is kept with probability %v, want %v", w, share, got, want)
		}
	}
	if c.keep(0, 0) != 1 {
		t.Error("words are left out without subsampling")
	}
	all, fewer := c.pairs(Options{Seed: 1, Window: 2}), c.pairs(Options{Seed: 1, Window: 2, Subsample: 1e-3})
	if len(fewer) == 0 || len(fewer) >= len(all)*3/4 {
		t.Errorf("%d pairs of %d are left", len(fewer), len(all))
	}
}

func TestPairsRefuse(t *testing.T) {
	c := Generate(1, 10)
	for _, o := range []Options{{Negatives: 1}, {Window: 1}, {Window: 1, Negatives: 1, Subsample: -1}} {
		if _, err := c.Pairs(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := Generate(1, 0).Pairs(Options{Window: 1, Negatives: 1}); err == nil {
		t.Error("a text without words has pairs")
	}
}
