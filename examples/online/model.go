package main

import (
	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// format is that of the log's lines.
var format = dataset.MultiSlot{Slots: []dataset.SlotColumn{
	{Column: dataset.Floats("click")}, {Column: dataset.Ints("user")}, {Column: dataset.IDs("item")},
	{Column: dataset.IDs("hour")}, {Column: dataset.Varying(dataset.IDs("seen"))},
}}

// model predicts clicks.
type model struct{ pred, loss, auc, grouped *nn.Node }

// newModel multiplies the vectors of a user and what that has seen with an item's, beside two layers. Rows count shows
// and clicks, and exist from a score on.
func newModel(seed uint64) model {
	g := nn.NewGraph(seed)
	click, user := g.Input("click", 1), g.IDs("user", 1)
	t := nn.EmbeddingOptions{Name: "vectors", Dim: 8, Click: click,
		Entry: optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: .15}}}
	u, item, hour := nn.Embedding(user, t), nn.Embedding(g.IDs("item", 1), t), nn.Embedding(g.IDs("hour", 1), t)
	seen := nn.EmbeddingPool(g.Slot("seen"), nn.PoolMean, t)
	h := nn.Concat(u, item, hour, seen, nn.Multiply(u, item), nn.Multiply(seen, item))
	for _, size := range []int{32, 16} {
		h = nn.Linear(h, size, nn.LinearOptions{Act: nn.ReLU})
	}
	pred := nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid})
	return model{pred, nn.Mean(nn.LogLoss(pred, click)), nn.AUC(pred, click).Named("AUC"),
		nn.GroupAUC(pred, click, user).Named("AUC by user")}
}
