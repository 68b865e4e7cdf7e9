package nn_test

import "github.com/gofleet/gofleet/nn"

// The functions of this file stand for a program's model.go; their lines are numbered for TestMistakesNameTheirLine and TestBatchesNameTheLine.

func residual(g *nn.Graph) {
	x := g.Input("x", 3)
//line model.go:31
	nn.Add(nn.Linear(x, 1, nn.LinearOptions{}), nn.Sum(x, 1))
}

func activated(g *nn.Graph) {
	x := g.Input("x", 3)
//line model.go:41
	nn.Linear(x, 2, nn.LinearOptions{
		Act: nn.Softmax, Name: "x"})
}

func activatedByItsOwn(g *nn.Graph) {
	x := g.Input("x", 3)
	nn.Linear(x, 2, nn.LinearOptions{Act: func(n *nn.Node) *nn.Node {
//line model.go:51
		return nn.Reshape(n, 5)
	}})
}

func nothing(g *nn.Graph) {
//line model.go:61
	nn.Concat(g.Input("x", 3), nil)
}

func tables(g *nn.Graph) {
	ids := g.IDs("ids", 1)
//line model.go:71
	nn.Embedding(ids, nn.EmbeddingOptions{Name: "t", Dim: 2})
	nn.Embedding(ids, nn.EmbeddingOptions{Name: "t", Dim: 3})
}

func named(g *nn.Graph) {
//line model.go:81
	y := nn.ReLU(g.Input("x", 1))
	y.Named("x")
}

func normed(g *nn.Graph) {
	x := g.Input("x", 3)
//line model.go:91
	nn.LayerNorm(x, nn.NormOptions{Momentum: 0.9})
}

func model(g *nn.Graph) (loss *nn.Node) {
//line model.go:101
	x, ids := g.Input("x", 1), g.IDs("ids", 1)
	label := g.Input("label", 1)
	emb := nn.Embedding(ids, nn.EmbeddingOptions{Name: "emb", Height: 5, Dim: 2})
	pred := nn.Linear(nn.Concat(x, emb), 1, nn.LinearOptions{Act: nn.Sigmoid})
	return nn.Mean(nn.LogLoss(pred, label))
}
