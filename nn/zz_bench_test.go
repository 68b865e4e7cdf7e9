package nn_test

import (
	"context"
	"math/rand"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
	"gorgonia.org/tensor"
)

func BenchmarkZZ(b *testing.B) {
	b.Run("seed", func(b *testing.B) {
		g := nn.NewGraph(1)
		ids, dense, label := g.IDs("C", 26), g.Input("d", 13), g.Input("label", 1)
		h := nn.Concat(nn.Embedding(ids, nn.EmbeddingOptions{Name: "emb", Height: 1000001, Dim: 10}), dense)
		for range 3 {
			h = nn.Linear(h, 400, nn.LinearOptions{Act: nn.ReLU, Init: nn.FanIn{Normal: true}})
		}
		loss := nn.Mean(nn.LogLoss(nn.Sigmoid(nn.Linear(h, 1, nn.LinearOptions{})), label))
		local.Minimize(loss, optimizer.SGD{LR: 1e-4})
		n := 10
		f := func(k int) []float32 {
			x := make([]float32, k)
			for i := range x {
				x[i] = rand.Float32()
			}
			return x
		}
		id := make([]int64, 26*n)
		for i := range id {
			id[i] = int64(rand.Intn(1000000))
		}
		zz(b, nn.NewExecutor(g), map[string]*tensor.Dense{
			"C":     tensor.New(tensor.WithShape(n, 26), tensor.WithBacking(id)),
			"d":     tensor.New(tensor.WithShape(n, 13), tensor.WithBacking(f(13*n))),
			"label": tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(make([]float32, n)))}, loss)
	})
	b.Run("mnist", func(b *testing.B) {
		g := nn.NewGraph(1)
		x, y := g.Input("img", 784), g.IDs("label", 1)
		h := nn.Linear(x, 128, nn.LinearOptions{Act: nn.Tanh})
		h = nn.Linear(h, 128, nn.LinearOptions{Act: nn.Tanh})
		p := nn.Linear(h, 10, nn.LinearOptions{Act: nn.Softmax})
		loss := nn.Mean(nn.CrossEntropy(p, y))
		local.Minimize(loss, optimizer.Adam{LR: 1e-3})
		n := 64
		im := make([]float32, n*784)
		for i := range im {
			im[i] = rand.Float32()
		}
		l := make([]int64, n)
		zz(b, nn.NewExecutor(g), map[string]*tensor.Dense{
			"img":   tensor.New(tensor.WithShape(n, 784), tensor.WithBacking(im)),
			"label": tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(l))}, loss)
	})
}

func zz(b *testing.B, e *nn.Executor, feed map[string]*tensor.Dense, loss *nn.Node) {
	for b.Loop() {
		if _, err := e.Train(context.Background(), feed, loss); err != nil {
			b.Fatal(err)
		}
	}
}
