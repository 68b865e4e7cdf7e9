package main

import (
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// model is skip-gram with negative sampling: the vector of a word is trained until its inner products tell the words
// that stand near it from words that were drawn.
type model struct {
	graph        *nn.Graph
	loss, vector *nn.Node
}

func newModel(seed uint64, words, dim, candidates int) model {
	g := nn.NewGraph(seed)
	vector := nn.Embedding(g.IDs("word", 1), nn.EmbeddingOptions{Name: "emb", Height: words, Dim: dim,
		Init: optimizer.Uniform{Low: -0.5 / float32(dim), High: 0.5 / float32(dim)}})
	near := nn.Embedding(g.IDs("candidates", candidates), nn.EmbeddingOptions{Name: "context", Height: words, Dim: dim,
		Init: optimizer.Constant{}})
	return model{graph: g, vector: vector, loss: nn.Mean(nn.NCE(nn.Dot(vector, near), nil))}
}
