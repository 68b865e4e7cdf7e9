package main

import (
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// model predicts the label.
type model struct{ pred, label *nn.Node }

// newModel pools the rows of every slot's ids to one, whatever their number, and puts a deep network on top. All slots
// share one table.
func newModel(c *config, in inputs) model {
	g := nn.NewGraph(c.Seed)
	table := nn.EmbeddingOptions{Name: "SparseFeatFactors", Height: in.height, Dim: c.dim,
		Init: optimizer.Uniform{Low: -0.05, High: 0.05}}
	var parts []*nn.Node
	for _, slot := range in.slots {
		parts = append(parts, nn.EmbeddingPool(g.Slot(slot), nn.Pool(c.pool), table))
	}
	if in.numbers > 0 {
		parts = append(parts, g.Input("dense_input", in.numbers))
	}
	h := nn.Concat(parts...)
	for _, size := range []int{128, 64, 32} {
		h = nn.Linear(h, size, nn.LinearOptions{Act: nn.ReLU})
	}
	return model{nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid}), g.Input(in.label, 1)}
}
