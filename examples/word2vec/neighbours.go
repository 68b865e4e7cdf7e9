package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/examples/word2vec/corpus"
	"github.com/gofleet/gofleet/nn"
)

// neighbours finds the words with the most similar vectors.
type neighbours struct {
	words []string
	unit  [][]float32 // the words' vectors, of length 1
}

// vectors brings the vectors of all words.
func vectors(ctx context.Context, net model, words []string) (*neighbours, error) {
	ids := make([]int64, len(words))
	for i := range ids {
		ids[i] = int64(i)
	}
	exe := nn.NewExecutor(net.graph)
	out, err := exe.Eval(ctx, map[string]*tensor.Dense{
		"word": tensor.New(tensor.WithShape(len(ids), 1), tensor.WithBacking(ids))}, net.vector)
	if err != nil {
		return nil, err
	}
	n := &neighbours{words: words}
	for v := range slices.Chunk(out[0].Float32s(), net.vector.Shape()[1]) {
		n.unit = append(n.unit, unit(v))
	}
	return n, exe.Close(ctx)
}

func unit(v []float32) []float32 {
	length := float32(math.Sqrt(float64(product(v, v))))
	u := make([]float32, len(v))
	for i, x := range v {
		u[i] = x / max(length, 1e-12)
	}
	return u
}

func product(a, b []float32) (sum float32) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// near are the k words whose vectors have the highest cosine with that of a word, without itself.
func (n *neighbours) near(word, k int) []int {
	var best []int
	var cosines []float32
	for i, u := range n.unit {
		c := product(n.unit[word], u)
		if i == word || len(best) == k && c <= cosines[k-1] {
			continue
		}
		at, _ := slices.BinarySearchFunc(cosines, c, func(have, want float32) int {
			if have > want {
				return -1
			}
			return 1
		})
		best, cosines = slices.Insert(best, at, i), slices.Insert(cosines, at, c)
		best, cosines = best[:min(k, len(best))], cosines[:min(k, len(cosines))]
	}
	return best
}

// report prints the neighbours of some words, and returns the share of words with a topic whose nearest word has it
// too; 0 when no word has one.
func (n *neighbours) report(out io.Writer) (share float64) {
	same, all, apart := 0, 0, min(50, len(n.words)/6)
	for i, w := range n.words {
		near := n.near(i, 4)
		if i > 0 && i <= 5*apart && i%apart == 0 { // not the most frequent, which go with everything
			fmt.Fprintf(out, "nearest to %s: %s\n", w, n.list(near))
		}
		topic, ok := corpus.Topic(w)
		if !ok {
			continue
		}
		all++
		if other, _ := corpus.Topic(n.words[near[0]]); other == topic {
			same++
		}
	}
	if all == 0 {
		return 0
	}
	share = float64(same) / float64(all)
	fmt.Fprintf(out, "%.4f of %d words have a nearest word of their topic; by chance it were %.4f\n", share, all,
		1/float64(corpus.Topics))
	return share
}

func (n *neighbours) list(words []int) string {
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = n.words[w]
	}
	return strings.Join(names, ", ")
}
