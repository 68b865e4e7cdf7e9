// Package corpus makes pairs of words to train embeddings on, from text that is read or generated.
//
//	c, err := corpus.Read(strings.NewReader(text), 5) // or corpus.Generate(seed, sentences)
//	rows := c.Pairs(corpus.Options{Seed: 1, Window: 3, Negatives: 5, Subsample: 1e-3})
package corpus

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Corpus is text as numbers of words. Words are numbered from the most frequent to the rarest.
type Corpus struct {
	Words  []string
	Counts []int64 // of each word
	lines  [][]int32
	total  int64
}

// maxLine bounds a line of text, in bytes.
const maxLine = 1 << 20

// Read takes every line as a sentence of words between blanks, in lower case. Words that are rarer than min are left
// out.
func Read(r io.Reader, min int64) (*Corpus, error) {
	var text [][]string
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		if words := strings.Fields(strings.ToLower(s.Text())); len(words) > 1 {
			text = append(text, words)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("corpus: line %d: %w", len(text)+1, err)
	}
	return count(text, min)
}

// count numbers the words that are frequent enough and writes the text with them.
func count(text [][]string, min int64) (*Corpus, error) {
	counts := map[string]int64{}
	for _, line := range text {
		for _, w := range line {
			counts[w]++
		}
	}
	c := &Corpus{}
	for w, n := range counts {
		if n >= min {
			c.Words = append(c.Words, w)
		}
	}
	if len(c.Words) < 2 {
		return nil, errors.New("corpus: fewer than two words are frequent enough")
	}
	slices.SortFunc(c.Words, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]),
			cmp.Compare(a, b))
	})
	index := map[string]int32{}
	for i, w := range c.Words {
		index[w] = int32(i)
		c.Counts = append(c.Counts, counts[w])
		c.total += counts[w]
	}
	for _, line := range text {
		c.lines = append(c.lines, numbered(line, index))
	}
	return c, nil
}

func numbered(line []string, index map[string]int32) (ids []int32) {
	for _, w := range line {
		if id, ok := index[w]; ok {
			ids = append(ids, id)
		}
	}
	return ids
}
