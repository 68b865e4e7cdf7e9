package main

import (
	"github.com/gofleet/gofleet/examples/wide_and_deep/flights"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// model predicts the label.
type model struct{ pred, label *nn.Node }

// newModel is DeepFM (Guo et al., 2017): a factorization machine and a deep network that share the vectors of the
// categories, of dim numbers.
func newModel(seed uint64, dim int, layers ...int) model {
	g := nn.NewGraph(seed)
	fields, numeric := len(flights.Categories()), len(flights.Numbers())
	numbers, ids := g.Input("dense_input", numeric), g.IDs("C", fields)
	small := optimizer.Uniform{Low: -0.05, High: 0.05}
	vectors := nn.Embedding(ids, nn.EmbeddingOptions{Name: "SparseFeatFactors", Height: flights.Height, Dim: dim,
		Init: small})
	weights := nn.Embedding(ids, nn.EmbeddingOptions{Name: "SparseFeatWeights", Height: flights.Height, Dim: 1,
		Init: optimizer.Constant{}})

	first := nn.Add(
		nn.Reshape(nn.Sum(weights, 1), 1),
		nn.Linear(numbers, 1, nn.LinearOptions{Init: nn.FanIn{Normal: true}}))
	second := crosses(
		nn.Reshape(vectors, fields, dim), numbers,
		g.Parameter(nn.ParameterOptions{Name: "DenseFeatFactors", Init: small}, numeric, dim))
	deep := nn.Concat(vectors, numbers)
	for _, size := range layers {
		deep = nn.Linear(deep, size, nn.LinearOptions{Act: nn.ReLU, Init: nn.FanIn{Normal: true}})
	}
	deep = nn.Linear(deep, 1, nn.LinearOptions{Init: nn.FanIn{Normal: true}})
	return model{nn.Sigmoid(nn.Add(nn.Add(first, second), deep)), g.Input("label", 1)}
}

// crosses adds up the inner products of all pairs of fields (Rendle, 2010). Field i has the vector vᵢ: a looked-up row
// of vectors [N F D], or a number of [N M] times its row of factors [M D]. Since Σᵢ<ⱼ vᵢ·vⱼ = ½(|Σvᵢ|² − Σ|vᵢ|²), pairs
// need not be visited.
func crosses(vectors, numbers, factors *nn.Node) *nn.Node {
	sum := nn.Add(nn.Sum(vectors, 1), nn.MatMul(numbers, factors))
	squares := nn.Add(nn.Sum(square(vectors), 1), nn.MatMul(square(numbers), square(factors)))
	pairs := nn.Sum(nn.Subtract(square(sum), squares), 1)
	return nn.Reshape(nn.Scale(pairs, 0.5, 0), 1)
}

func square(x *nn.Node) *nn.Node { return nn.Multiply(x, x) }
