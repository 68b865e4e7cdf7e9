package nntest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// Case is a layer with inputs of some sizes.
type Case struct {
	Inputs []Input
	// Build makes the layer's node from its inputs. It is called for several graphs, and twice for one.
	Build func(in []*nn.Node) *nn.Node
	// Twin is the formula in float64: it returns the elements of the result for the elements of the inputs, all
	// row-major. nil skips the comparison.
	Twin func(in [][]float64) []float64
	// Mixed says that an example's values depend on the other examples of the batch, as in batch norm.
	Mixed bool
	// TrainOnly says that an evaluation computes different values from training, as in batch norm.
	TrainOnly bool
}

// Input is an input of a layer, with random elements between Low and High.
type Input struct {
	Shape     []int // for values with examples, their number first
	Low, High float64
	// Make makes the input's node from its elements, and adds its feeds to feeds. Gradients are compared if the graph
	// has a trained param with the input's name.
	Make func(in Input, g *nn.Graph, feeds map[string]*tensor.Dense, name string, elements []float64) *nn.Node
	// Whole makes the elements whole numbers, rounded down.
	Whole bool
	// Fixed says that the input has no examples, as a param.
	Fixed bool
}

// Values are float32 values of examples, n first, that have a gradient.
func Values(n int, dims ...int) Input {
	return Input{Shape: append([]int{n}, dims...), Low: -2, High: 2, Make: values}
}

// Weights are a param of this shape.
func Weights(dims ...int) Input {
	return Input{Shape: dims, Low: -1, High: 1, Make: weights, Fixed: true}
}

// Numbers are a float32 feed of examples, n first, without a gradient.
func Numbers(n int, dims ...int) Input {
	return Input{Shape: append([]int{n}, dims...), Low: 0, High: 1, Make: numbers}
}

// Labels are an int64 feed of examples, n first, from 0 to below a number.
func Labels(below, n int, dims ...int) Input {
	return Input{Shape: append([]int{n}, dims...), Low: 0, High: float64(below), Make: labels, Whole: true}
}

// Between is the input with elements from low to high.
func (in Input) Between(low, high float64) Input { in.Low, in.High = low, high; return in }

// batches are the numbers of examples of a test, each with the largest dimension used with it.
var batches = []struct{ n, most int }{{1, 37}, {2, 31}, {3, 17}, {5, 8}, {8, 5}, {13, 3}}

// Run tests a layer at all sizes: of makes the case for n examples; each call of dim returns a random dimension, of
// which few are large.
func Run(t *testing.T, of func(n int, dim func() int) Case) {
	t.Helper()
	for i, b := range batches {
		for draw := range 3 {
			c := of(b.n, dimensions(uint64(10*i+draw), b.most))
			if b.n == 3 && draw == 0 {
				Check(t, c)
				continue
			}
			t.Run(fmt.Sprintf("formula at %d", b.n), func(t *testing.T) { c.formula(t, 1, 1, 1) })
		}
	}
}

// Check tests one case.
func Check(t *testing.T, c Case) {
	t.Helper()
	t.Run("formula", func(t *testing.T) { c.formula(t, 1, 1, 1) })
	t.Run("used twice", func(t *testing.T) { c.formula(t, 2, 1, 1) })
	t.Run("trained alone", c.trainedAlone)
	t.Run("many examples", c.manyExamples)
	t.Run("own values", c.ownValues)
	t.Run("a NaN shows", c.nan)
	t.Run("allocates nothing", c.allocatesNothing)
	t.Run("saved", c.saved)
	t.Run("goroutines", c.goroutines)
}

// shapes are the shapes of the inputs.
func (c Case) shapes() (s string) {
	for _, in := range c.Inputs {
		s += fmt.Sprint(" ", in.Shape)
	}
	return s
}

// dimensions returns a function that draws dimensions up to most, few of them large.
func dimensions(seed uint64, most int) func() int {
	r, room := rand.New(rand.NewPCG(seed, 1)), most
	return func() int {
		d := 1 + r.IntN(room)
		room = max(1, min(room, 2*most/d/3))
		return d
	}
}

// draw draws the elements of an input, which are exact as float32.
func (in Input) draw(seed int) []float64 {
	n := product(in.Shape)
	r, v := rand.New(rand.NewPCG(uint64(seed), 2)), make([]float64, n)
	for i := range v {
		if v[i] = float64(float32(in.Low + (in.High-in.Low)*r.Float64())); in.Whole {
			v[i] = math.Floor(v[i])
		}
	}
	return v
}

func product(dims []int) int {
	p := 1
	for _, d := range dims {
		p *= d
	}
	return p
}

// values are the rows of a table, all looked up: a lookup of an example has its own gradient.
func values(in Input, g *nn.Graph, feeds map[string]*tensor.Dense, name string, v []float64) *nn.Node {
	n, dims := in.Shape[0], in.Shape[1:]
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	feeds[name+".ids"] = tensor.New(tensor.WithShape(n), tensor.WithBacking(ids))
	x := nn.Embedding(g.IDs(name+".ids"), nn.EmbeddingOptions{Name: name, Height: n, Dim: product(dims),
		Init: optimizer.Assign(narrow(v))})
	if len(dims) != 1 {
		x = nn.Reshape(x, dims...)
	}
	return x
}

func weights(in Input, g *nn.Graph, _ map[string]*tensor.Dense, name string, v []float64) *nn.Node {
	return g.Parameter(nn.ParameterOptions{Name: name, Init: optimizer.Assign(narrow(v))}, in.Shape...)
}

func numbers(in Input, g *nn.Graph, feeds map[string]*tensor.Dense, name string, v []float64) *nn.Node {
	feeds[name] = tensor.New(tensor.WithShape(in.Shape...), tensor.WithBacking(narrow(v)))
	return g.Input(name, in.Shape[1:]...)
}

func labels(in Input, g *nn.Graph, feeds map[string]*tensor.Dense, name string, v []float64) *nn.Node {
	ids := make([]int64, len(v))
	for i := range ids {
		ids[i] = int64(v[i])
	}
	feeds[name] = tensor.New(tensor.WithShape(in.Shape...), tensor.WithBacking(ids))
	return g.IDs(name, in.Shape[1:]...)
}

func narrow(v []float64) []float32 {
	f := make([]float32, len(v))
	for i, x := range v {
		f[i] = float32(x)
	}
	return f
}
