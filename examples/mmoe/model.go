package main

import "github.com/gofleet/gofleet/nn"

// model predicts a label of each task.
type model struct {
	loss    *nn.Node
	preds   []*nn.Node
	metrics []*nn.Node
}

// newModel is a mixture of experts: networks that all tasks share, of which each task weighs the results by a gate of
// its own, and goes on with layers of its own.
func newModel(seed uint64, dim int) (m model) {
	g := nn.NewGraph(seed)
	rows := nn.Embedding(g.IDs("fields", fields), nn.EmbeddingOptions{Name: "values", Height: height, Dim: dim})
	label := g.Input("label", len(tasks))
	labels := nn.Split(label, 1, 1, 1)
	for i, x := range nn.MMoE(rows, nn.MMoEOptions{Experts: 4, Tasks: len(tasks), Hidden: []int{64, 32}}) {
		h := nn.Linear(x, 16, nn.LinearOptions{Act: nn.ReLU})
		m.preds = append(m.preds, nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid}).Named(tasks[i]))
		m.metrics = append(m.metrics, nn.AUC(m.preds[i], labels[i]).Named("AUC of "+tasks[i]+"s"))
	}
	m.loss = nn.Mean(nn.BinaryCrossEntropy(nn.Concat(m.preds...), label))
	return m
}
