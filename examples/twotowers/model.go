package main

import (
	"github.com/gofleet/gofleet/examples/internal/retrieval"
	"github.com/gofleet/gofleet/nn"
)

// newModel is a tower of layers over the features of users, and another over the items'. The loss wants the vectors
// of a user and of the item that he liked to have a larger inner product than the user has with the batch's other
// items.
func newModel(seed uint64, dim int) (loss *nn.Node, t retrieval.Towers) {
	g := nn.NewGraph(seed)
	lookup := func(feature string, height int) *nn.Node {
		return nn.Embedding(g.IDs(feature, 1), nn.EmbeddingOptions{Name: "table of " + feature, Height: height,
			Dim: dim})
	}
	tower := func(features ...*nn.Node) *nn.Node {
		h := nn.Linear(nn.Concat(features...), 64, nn.LinearOptions{Act: nn.ReLU})
		return nn.Linear(h, dim, nn.LinearOptions{})
	}
	user := tower(lookup("user", users), lookup("region", regions)).Named("user_vector")
	item := tower(lookup("item", items+1), lookup("category", categories)).Named("item_vector")
	loss = nn.Mean(nn.InBatchSoftmax(user, item, nn.InBatchOptions{LogQ: g.Input("logq", 1), IDs: g.Node("item")}))
	return loss, retrieval.Towers{Query: user, Item: item, Items: catalog()}
}
