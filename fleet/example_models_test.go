package fleet_test

import (
	"os"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// widedeep stands for the package in which a program keeps its model.
var widedeep wideDeepPackage

type wideDeepPackage struct{}

// config is what can be chosen of the model.
type config struct {
	ids, dim int
	layers   []int
}

// model is a graph and what the examples want of it.
type model struct {
	Graph               *nn.Graph
	Loss, AUC, BatchAUC *nn.Node
}

// New is wide & deep: a linear part on the numbers beside a deep one on embedded ids and the numbers.
func (wideDeepPackage) New(c config) model {
	g := nn.NewGraph(1)
	numbers, ids, label := g.Input("dense_input", 13), g.IDs("C", 26), g.Input("label", 1)
	embedded := nn.Embedding(ids, nn.EmbeddingOptions{Height: c.ids, Dim: c.dim, Init: optimizer.Uniform{Low: -0.05, High: 0.05}})
	deep := nn.Concat(numbers, embedded)
	for _, size := range c.layers {
		deep = nn.Linear(deep, size, nn.LinearOptions{Act: nn.ReLU})
	}
	pred := nn.Sigmoid(nn.Add(nn.Linear(numbers, 1, nn.LinearOptions{}), nn.Linear(deep, 1, nn.LinearOptions{})))
	return model{g, nn.Mean(nn.LogLoss(pred, label)), nn.AUC(pred, label), nn.BatchAUC(pred, label)}
}

func small() config { return config{ids: 1_000_001, dim: 4, layers: []int{16, 16}} }

// clicks are 80 rows of Criteo's display advertising data as slot text.
func clicks() *dataset.Dataset {
	return dataset.FromFiles(dataset.CriteoSlots(), "../dataset/testdata/criteo_sample_80.slots.txt")
}

// readDigits reads handwritten digits as MNIST has them.
func readDigits() (train, test *dataset.Dataset, err error) {
	return dataset.MNIST(os.DirFS("../examples/mnist/digits"))
}
