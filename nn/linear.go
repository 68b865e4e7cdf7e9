package nn

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// LinearOptions describe a fully connected layer.
type LinearOptions struct {
	// Name names the layer: its parameters are Name.w_0 and Name.b_0. Empty means fc_0, fc_1 and so on.
	Name string
	// Act is applied to the result, such as ReLU; nil means nothing.
	Act func(*Node) *Node
	// Init gives the weights' initial values; nil means Xavier.
	Init optimizer.Initializer
	// BiasInit gives the bias' initial values; nil means zero.
	BiasInit optimizer.Initializer
	// NoBias leaves the bias out.
	NoBias bool
	// PerPosition applies the layer to the last dimension of x only, at each position: for x of shape [N L in] the
	// result is [N L size], as with PyTorch's Linear, Keras' Dense, and PaddlePaddle's fc with a larger
	// num_flatten_dims.
	PerPosition bool
}

// Linear is a fully connected layer, Act(x·W + b) of shape [N size]. Dimensions of x after the first are flattened to
// in, unless it acts per position; W is a parameter of shape [in size], b one of shape [size].
func Linear(x *Node, size int, o LinearOptions) *Node {
	if x == nil || x.bad {
		return apply("", linear{}, x)
	}
	g, name := x.graph, o.Name
	if name == "" {
		name = g.free("fc")
	}
	l := linear{PerPosition: o.PerPosition}
	in := []*Node{x, g.dense(name+".w_0", []int{l.width(x), size}, defaultInit(o.Init), false)}
	if !o.NoBias {
		in = append(in, g.dense(name+".b_0", []int{size}, o.BiasInit, false))
	}
	y := apply(name, l, in...)
	if o.Act != nil {
		y = o.Act(y)
	}
	return y
}

// linear is x·W, plus a bias if there is a third input.
type linear struct {
	PerPosition bool `json:"per_position,omitempty"`
}

func (linear) kind() string { return "linear" }

// width is the number of elements of x that are multiplied by one column of weights.
func (l linear) width(x *Node) int {
	if l.PerPosition && len(x.shape) > 0 {
		return x.shape[len(x.shape)-1]
	}
	return x.perExample()
}

func (l linear) infer(in []*Node) ([]int, error) {
	if err := wantFloat(in); err != nil {
		return nil, err
	}
	x, w := in[0], in[1]
	if l.PerPosition && len(x.shape) < 2 {
		return nil, fmt.Errorf("input %v has no positions: shape [N … in] is needed", x)
	}
	if len(w.shape) != 2 || l.width(x) != w.shape[0] {
		of := "an example"
		if l.PerPosition {
			of = "a position"
		}
		return nil, fmt.Errorf("input %v has %d numbers %s, weights %v don't fit", x, l.width(x), of, w)
	}
	if len(in) > 2 && !equalShapes(in[2].shape, w.shape[1:]) {
		return nil, fmt.Errorf("bias %v does not fit weights %v", in[2], w)
	}
	if l.PerPosition {
		return append(slices.Clone(x.shape[:len(x.shape)-1]), w.shape[1]), nil
	}
	return []int{x.shape[0], w.shape[1]}, nil
}

func (linear) overwritable()      {}
func (linear) byExample()         {}
func (linear) rowsOf(c *cell) int { return len(c.value) / c.in[1].shape[1] }

// mostCombined is the largest number of rows for which it is faster to add up weights row by row, skipping zeros, than
// to compute a product.
const mostCombined = 3

func (linear) forward(c *cell) {
	x, w := c.in[0], c.in[1]
	switch rows := len(c.value) / w.shape[1]; {
	case w.finite && w.shape[1] > 1 && rows <= mostCombined: // such as a request to a served model
		in, out := w.shape[0], w.shape[1]
		for i := range rows {
			kernels.CombineRows(c.value[i*out:(i+1)*out], x.value[i*in:(i+1)*in], w.value)
		}
	case w.packed != nil && w.shape[1] > 1:
		kernels.GemmPacked(rows, x.value, w.packed(), c.value)
	default:
		kernels.Gemm(false, false, rows, w.shape[1], w.shape[0], x.value, w.value, c.value, false)
	}
	if len(c.in) > 2 {
		kernels.AddBias(c.value, c.in[2].value)
	}
}

func (linear) backward(c *cell) {
	x, w := c.in[0], c.in[1]
	n, in, out := len(c.value)/w.shape[1], w.shape[0], w.shape[1]
	if len(c.in) > 2 && c.in[2].wanted {
		kernels.SumRows(c.in[2].grad, c.grad, c.in[2].adds())
	}
	if w.wanted {
		kernels.Gemm(true, false, in, out, n, x.value, c.grad, w.grad, w.adds())
	}
	if x.wanted {
		kernels.Gemm(false, true, n, in, out, c.grad, w.value, x.grad, x.adds())
	}
}
