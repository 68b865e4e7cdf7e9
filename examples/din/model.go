package main

import "github.com/gofleet/gofleet/nn"

// model predicts the label.
type model struct{ pred, label *nn.Node }

// newModel is a deep interest network: what a user clicked before is weighed by the item that is shown, and layers
// follow. History and item are looked up in one table.
func newModel(seed uint64, dim int) model {
	g := nn.NewGraph(seed)
	table := nn.EmbeddingOptions{Name: "items", Height: items + 1, Dim: dim, PaddingIdx: new(int64(0))}
	history := nn.EmbeddingSequence(g.IDs("history", longest), longest, table)
	item := nn.Embedding(g.IDs("item", 1), table)
	interest := nn.DIN(item, history.Rows, history.Mask, nn.DINOptions{Hidden: []int{36}})
	h := nn.Concat(item, interest)
	for _, size := range []int{64, 32} {
		h = nn.Dice(nn.Linear(h, size, nn.LinearOptions{}))
	}
	return model{nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid}), g.Input("label", 1)}
}
