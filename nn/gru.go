package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// GRUOptions describe a gated recurrent unit.
type GRUOptions struct {
	// Name names the layer: its parameters are Name.w_0 and Name.b_0 of the input, Name.w_1 and Name.b_1 of the state.
	// Empty means gru_0 and so on.
	Name string
	// Init gives the initial values of all of them; nil is uniform between ±1/√size.
	Init optimizer.Initializer
	// Mask, of shape [N L], is 0 at places where there is nothing: the state stays as it was. nil is none.
	Mask *Node
}

// GRU reads the places of x, of shape [N L D], one after the other, with a state h of so many numbers, from 0 on (Cho
// et al., 2014, with the reset behind the product, as cuDNN, PyTorch and Keras have it):
//
//	r, z = Sigmoid(x·Wr + br + h·Ur + cr), Sigmoid(x·Wz + bz + h·Uz + cz)
//	h'   = (1−z)·Tanh(x·Wn + bn + r·(h·Un + cn)) + z·h
//
// The result is the state after each place, of shape [N L size]; the last, Slice(y, 1, L-1, L), is that after all. W of
// shape [D 3·size] and U of shape [size 3·size] have the columns of r, z and n, in this order.
func GRU(x *Node, size int, o GRUOptions) *Node {
	if missing(x) {
		return apply("", gru{}, x)
	}
	g := x.graph
	if len(x.shape) != 3 || size < 1 {
		return g.newNode(o.Name, gru{}, x).spoil(fmt.Errorf(
			"a state of %d over %v: shape [N L D] is needed, and a size", size, x))
	}
	if o.Name == "" {
		o.Name = g.free("gru")
	}
	if o.Init == nil {
		bound := float32(1 / math.Sqrt(float64(size)))
		o.Init = optimizer.Uniform{Low: -bound, High: bound}
	}
	gates := apply(o.Name+".input", linear{PerPosition: true}, x,
		g.dense(o.Name+".w_0", []int{x.shape[2], 3 * size}, o.Init, false),
		g.dense(o.Name+".b_0", []int{3 * size}, o.Init, false))
	in := []*Node{gates,
		g.dense(o.Name+".w_1", []int{size, 3 * size}, o.Init, false), g.dense(o.Name+".b_1", []int{3 * size}, o.Init,
			false)}
	if o.Mask != nil {
		in = append(in, o.Mask)
	}
	return apply(o.Name, gru{}, in...)
}

// gru has the input's part of the gates, [N L 3H], the state's weights and bias, and a mask, or none.
type gru struct{}

func (gru) kind() string { return "gru" }

func (gru) infer(in []*Node) ([]int, error) {
	x := in[0]
	if len(in) < 3 || len(x.shape) != 3 || x.shape[0] != batch || x.shape[2]%3 != 0 {
		return nil, fmt.Errorf("input %v is no gates of a sequence: shape [N L 3·size] is needed", x)
	}
	size := x.shape[2] / 3
	if !equalShapes(in[1].shape, []int{size, 3 * size}) || !equalShapes(in[2].shape, []int{3 * size}) {
		return nil, fmt.Errorf("weights %v and %v don't fit a state of %d", in[1], in[2], size)
	}
	if len(in) > 3 && !equalShapes(in[3].shape, x.shape[:2]) {
		return nil, fmt.Errorf("mask %v does not fit: %s is needed", in[3], shapeString(x.shape[:2]))
	}
	return []int{batch, x.shape[1], size}, wantFloat(in)
}

// gruSteps are the states and gates of all steps, a block of n examples each, and the state before the first.
type gruSteps struct {
	n, l, size   int
	states       []float32 // [L+1 N H]
	gates        []float32 // [L N 3H]: r, z and n
	fromState    []float32 // [L N 3H]: h·U + c; in backward its gradient
	carried, old []float32 // [N H] of backward
}

func (gru) steps(c *cell) gruSteps {
	s := gruSteps{n: c.shape[0], l: c.shape[1], size: c.shape[2]}
	block := s.n * s.size
	all := c.scratch((s.l+1)*block + 6*s.l*block + 2*block)
	s.states, all = all[:(s.l+1)*block], all[(s.l+1)*block:]
	s.gates, all = all[:3*s.l*block], all[3*s.l*block:]
	s.fromState, all = all[:3*s.l*block], all[3*s.l*block:]
	s.carried, s.old = all[:block], all[block:]
	return s
}

// at is the part of step t in values of which an example has so many a step.
func (s gruSteps) at(x []float32, t, width int) []float32 { return x[t*s.n*width : (t+1)*s.n*width] }

// skips says whether example i has nothing at place t.
func (gru) skips(c *cell, i, t int) bool { return len(c.in) > 3 && c.in[3].value[i*c.shape[1]+t] == 0 }

func (g gru) forward(c *cell) {
	s, x := g.steps(c), c.in[0].value
	h := s.size
	clear(s.at(s.states, 0, h))
	for t := range s.l {
		before, after := s.at(s.states, t, h), s.at(s.states, t+1, h)
		gates, own := s.at(s.gates, t, 3*h), s.at(s.fromState, t, 3*h)
		kernels.Gemm(false, false, s.n, 3*h, h, before, c.in[1].value, own, false)
		kernels.AddBias(own, c.in[2].value)
		for i := range s.n {
			x, gate, own := x[(i*s.l+t)*3*h:][:3*h], gates[i*3*h:][:3*h], own[i*3*h:][:3*h]
			old, now := before[i*h:][:h], after[i*h:][:h]
			kernels.Add(gate[:2*h], x[:2*h], own[:2*h])
			kernels.Sigmoid(gate[:2*h], gate[:2*h])
			r, z, n := gate[:h], gate[h:2*h], gate[2*h:]
			kernels.Mul(n, r, own[2*h:])
			kernels.Add(n, n, x[2*h:])
			kernels.Tanh(n, n)
			if g.skips(c, i, t) {
				copy(now, old)
			} else {
				for j, v := range n {
					now[j] = v + z[j]*(old[j]-v)
				}
			}
			copy(c.value[(i*s.l+t)*h:], now)
		}
	}
}

// backward goes through the steps from the last to the first; carried is the gradient of the state between two of them.
func (g gru) backward(c *cell) {
	s, x := g.steps(c), c.in[0]
	h := s.size
	var dx []float32
	if x.wanted {
		dx = x.sum()
	}
	clear(s.carried)
	for t := s.l - 1; t >= 0; t-- {
		before, gates, own := s.at(s.states, t, h), s.at(s.gates, t, 3*h), s.at(s.fromState, t, 3*h)
		for i := range s.n {
			down := s.carried[i*h:][:h]
			addTo(down, c.grad[(i*s.l+t)*h:][:h])
			gate, own := gates[i*3*h:][:3*h], own[i*3*h:][:3*h]
			old := s.old[i*h:][:h]
			if g.skips(c, i, t) {
				copy(old, down)
				clear(own)
				continue
			}
			gruGrad(down, before[i*h:][:h], gate, own, old)
			if dx != nil {
				to := dx[(i*s.l+t)*3*h:][:3*h]
				addTo(to[:2*h], own[:2*h])
				addTo(to[2*h:], gate[2*h:])
			}
		}
		copy(s.carried, s.old)
		kernels.Gemm(false, true, s.n, h, 3*h, own, c.in[1].value, s.carried, true)
	}
	if w := c.in[1]; w.wanted {
		kernels.Gemm(true, false, h, 3*h, s.l*s.n, s.states[:s.l*s.n*h], s.fromState, w.grad, w.adds())
	}
	if b := c.in[2]; b.wanted {
		kernels.SumRows(b.grad, s.fromState, b.adds())
	}
}

// gruGrad takes the gradient of a state back through a step of one example: own, which held h·U + c, becomes the
// gradient of that, gate the gradient of Tanh's argument in its last third, and old what goes to the state before, not
// through U.
func gruGrad(down, before, gate, own, old []float32) {
	h := len(down)
	r, z, n := gate[:h], gate[h:2*h], gate[2*h:]
	for j, d := range down {
		old[j] = d * z[j]
		dn := d * (1 - z[j]) * (1 - n[j]*n[j])
		own[h+j] = d * (before[j] - n[j]) * z[j] * (1 - z[j])
		own[j] = dn * own[2*h+j] * r[j] * (1 - r[j])
		own[2*h+j] = dn * r[j]
		n[j] = dn
	}
}
