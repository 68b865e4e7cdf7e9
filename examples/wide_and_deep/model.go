package main

import (
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// model is wide & deep: a linear part on the numbers beside a deep one on embedded categories and the numbers.
type model struct {
	graph             *nn.Graph
	pred, loss, score *nn.Node
}

func newModel(c *config, categories int) model {
	g := nn.NewGraph(c.Seed)
	numbers := g.Input("dense_input", 13)
	ids := g.IDs("C", categories)
	label := g.Input("label", 1)

	embedded := nn.Embedding(ids, nn.EmbeddingOptions{Name: "SparseFeatFactors", Height: c.height, Dim: c.dim,
		Init: optimizer.Uniform{Low: -c.initRange, High: c.initRange}})
	deep := nn.Concat(embedded, numbers)
	for _, size := range c.layers {
		deep = nn.Linear(deep, size, nn.LinearOptions{Act: nn.ReLU, Init: nn.FanIn{Normal: true}})
	}
	deep = nn.Linear(deep, 1, nn.LinearOptions{Init: nn.FanIn{Normal: true}})
	wide := nn.Linear(numbers, 1, nn.LinearOptions{Init: nn.FanIn{Normal: true}})

	pred := nn.Sigmoid(nn.Add(wide, deep))
	return model{graph: g, pred: pred, loss: nn.Mean(nn.LogLoss(pred, label)), score: nn.AUC(pred, label).Named("AUC")}
}
