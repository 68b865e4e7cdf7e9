package nn_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// Bells are exp(−Steep·|x−c|²) of each example x of [N D] beside each centre c of [K D], of shape [N K]: what a layer of
// radial basis functions computes.
type Bells struct{ Steep float32 }

// Shape is that of the centres' number.
func (Bells) Shape(in [][]int) ([]int, error) {
	if len(in) != 2 || len(in[0]) != 1 || len(in[1]) != 2 || in[0][0] != in[1][1] {
		return nil, errors.New("examples [N D] and centres [K D] are needed")
	}
	return in[1][:1], nil
}

// Forward sets c.Out.Value, which has c.Rows × K numbers.
func (b Bells) Forward(c *nn.OpCall) {
	b.each(c, func(at int, x, centre []float32) {
		var far float32
		for d := range x {
			far += (x[d] - centre[d]) * (x[d] - centre[d])
		}
		c.Out.Value[at] = float32(math.Exp(float64(-b.Steep * far)))
	})
}

// Backward adds to gradients where they are wanted.
func (b Bells) Backward(c *nn.OpCall) {
	dims := c.In[1].Shape[1]
	b.each(c, func(at int, x, centre []float32) {
		slope := 2 * b.Steep * c.Out.Grad[at] * c.Out.Value[at]
		row, k := at/c.In[1].Shape[0], at%c.In[1].Shape[0]
		for d := range x {
			if dx := c.In[0].Grad; dx != nil {
				dx[row*dims+d] -= slope * (x[d] - centre[d])
			}
			if dc := c.In[1].Grad; dc != nil {
				dc[k*dims+d] += slope * (x[d] - centre[d])
			}
		}
	})
}

// each calls f with each example beside each centre.
func (Bells) each(c *nn.OpCall, f func(at int, x, centre []float32)) {
	k, dims := c.In[1].Shape[0], c.In[1].Shape[1]
	for at := range c.Rows * k {
		f(at, c.In[0].Value[at/k*dims:][:dims], c.In[1].Value[at%k*dims:][:dims])
	}
}

// An operation of one's own, beside the package's. Its test is nntest.Run.
func ExampleCustom() {
	if err := nn.RegisterOp[Bells]("example.bells"); err != nil { // to save models with it
		log.Fatal(err)
	}
	g := nn.NewGraph(1)
	x := g.Input("x", 2)
	centres := g.Parameter(nn.ParameterOptions{Name: "centres", Init: optimizer.Assign([]float32{0, 0, 1, 1, 3, 3})}, 3, 2)
	near := nn.Custom(Bells{Steep: 0.5}, x, centres)

	feed := map[string]*tensor.Dense{"x": nn.Floats([]float32{1, 1}, 2)}
	out, err := nn.NewExecutor(g).Eval(context.Background(), feed, near)
	fmt.Printf("%v %.3f %v\n", near, out[0].Float32s(), err)
	// Output: "custom_0" [N 3] [0.368 1.000 0.018] <nil>
}
