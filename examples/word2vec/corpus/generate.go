package corpus

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// topics are what generated sentences are about. Their words are called sea-0, sea-1 and so on.
var topics = strings.Fields("sea bread music winter stone horse garden market river glass engine school paper wool " +
	"moon bridge " +
	"cheese forest doctor theatre island coal letter clock iron carpet honey train village window")

// Topics is how many there are in generated text.
const Topics = 30

// common are the words that stand in every sentence.
var common = strings.Fields("the of and a to in is was he for it with as his on be at by i this had not are but from " +
	"or have an they which")

const (
	topicWords  = 60   // each topic has so many
	commonShare = 0.35 // of a sentence are common words
	strayShare  = 0.05 // and words of any topic
)

// Generate makes up a text: it is no language, but has a structure that embeddings should find. Each sentence is about
// one topic, and most of its words are that topic's, so that words of a topic stand beside each other; common words and
// strays stand between them. Within a topic, as in a language, the n-th word is about 1/n as frequent as the first. The
// text is a function of the seed.
func Generate(seed uint64, sentences int) *Corpus {
	r := rand.New(rand.NewPCG(seed, 0x776f7264))
	text := make([][]string, sentences)
	for i := range text {
		topic := topics[r.IntN(len(topics))]
		for range 8 + r.IntN(9) {
			text[i] = append(text[i], word(r, topic))
		}
	}
	c, err := count(text, 1)
	if err != nil {
		return &Corpus{} // no sentences
	}
	return c
}

func word(r *rand.Rand, topic string) string {
	switch p := r.Float64(); {
	case p < commonShare:
		return common[zipf(r, len(common))]
	case p < commonShare+strayShare:
		topic = topics[r.IntN(len(topics))]
	}
	return fmt.Sprintf("%s-%d", topic, zipf(r, topicWords))
}

// zipf draws a number below n; the k-th is about 1/k as frequent as the first.
func zipf(r *rand.Rand, n int) int {
	return min(n, int(math.Pow(float64(n+1), r.Float64()))) - 1
}

// Topic is what a generated word is about; common words, and most words of other texts, are about nothing.
func Topic(word string) (topic string, ok bool) {
	topic, _, ok = strings.Cut(word, "-")
	return topic, ok && slices.Contains(topics, topic)
}
