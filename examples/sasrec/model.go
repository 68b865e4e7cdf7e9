package main

import (
	"github.com/gofleet/gofleet/examples/internal/retrieval"
	"github.com/gofleet/gofleet/nn"
)

// newModel is a transformer over the items that a user has seen. At each place its state predicts the next item: it is
// trained to have a large inner product with the item's row, and a small one with that of an item which was drawn.
func newModel(seed uint64, dim int) (loss *nn.Node, t retrieval.Towers) {
	g := nn.NewGraph(seed)
	table := nn.EmbeddingOptions{Name: "items", Height: items + 1, Dim: dim, PaddingIdx: new(int64(0))}
	lookup := func(ids string) nn.Sequence { return nn.EmbeddingSequence(g.IDs(ids, longest), longest, table) }
	h := nn.PositionalEmbedding(lookup("seen").Rows, nn.ParameterOptions{})
	for range 2 {
		h = nn.TransformerEncoder(h, nn.TransformerOptions{NormFirst: true,
			Attention: nn.AttentionOptions{Heads: 2, Causal: true}})
	}
	h = nn.LayerNorm(h, nn.NormOptions{Axis: 2})
	score := func(of nn.Sequence) *nn.Node { return nn.Sum(nn.Multiply(h, of.Rows), 2) }
	next := lookup("next")
	right, wrong := score(next), score(lookup("drawn"))
	loss = nn.WeightedMean(nn.Add(nn.Softplus(nn.Scale(right, -1, 0)), nn.Softplus(wrong)), next.Mask)
	state := nn.Reshape(nn.Gather(h, g.IDs("last", 1)), dim).Named("state")
	return loss, retrieval.Towers{Query: state, Item: nn.Embedding(g.IDs("item", 1), table), Items: catalog()}
}
