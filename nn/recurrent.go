package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
)

// RecurrentOptions are the options of a recurrent layer.
type RecurrentOptions struct {
	// Name names the layer: its parameters are Name.w_0 and Name.b_0 of the input, Name.w_1 and Name.b_1 of the state.
	// Empty means gru_0 and so on, or lstm_0.
	Name string
	// Init gives the initial values of all of them; nil means uniform between ±1/√size.
	Init optimizer.Initializer
	// Mask, of shape [N L], is 0 at positions to skip: the state does not change there. nil means none.
	Mask *Node
	// Reverse reads from the last position to the first; where the last ones are skipped, from one that is not.
	Reverse bool
}

// recurrent is an op whose state at one position is computed from the state at the position before. Its inputs are the
// input's part of the gates, [N L gates·size], the state's weights and bias, and optionally a mask.
type recurrent interface {
	op
	// gates is the number of gates for each number of the state.
	gates() int
	// reversed reports whether the last position is the first to be read.
	reversed() bool
	// step computes gate, now and next of a position. It may store data for grad in own.
	step(p instant)
	// grad sets own to the gradient of h·U + c, gate to that of the input's part, up to the gradient of the state
	// before, except the part through U, and dMemory to that of the memory before.
	grad(p instant)
}

// direction is the order in which positions are read.
type direction struct {
	Reverse bool `json:"reverse,omitempty"`
}

func (d direction) reversed() bool { return d.Reverse }

// instant is one position of one example.
type instant struct {
	x, own       []float32 // the input's part of the gates, and h·U + c
	gate         []float32
	old, now     []float32 // the state before and after
	memory, next []float32 // besides the state, such as an LSTM's cell: before and after
	down, up     []float32 // gradients of the states after and before
	dMemory      []float32 // gradient of the memory after
}

// recur adds a recurrent op after the input's part of its gates.
func (o RecurrentOptions) recur(unit recurrent, x *Node, size int) *Node {
	if missing(x) {
		return apply("", unit, x)
	}
	g := x.graph
	if len(x.shape) != 3 || size < 1 {
		return g.newNode(o.Name, unit, x).spoil(fmt.Errorf(
			"a state of %d over %v: shape [N L D] is needed, and a size", size, x))
	}
	if o.Name == "" {
		o.Name = g.free(unit.kind())
	}
	if o.Init == nil {
		bound := float32(1 / math.Sqrt(float64(size)))
		o.Init = optimizer.Uniform{Low: -bound, High: bound}
	}
	width := unit.gates() * size
	gates := apply(o.Name+".input", linear{PerPosition: true}, x,
		g.dense(o.Name+".w_0", []int{x.shape[2], width}, o.Init, false),
		g.dense(o.Name+".b_0", []int{width}, o.Init, false))
	in := []*Node{gates, g.dense(o.Name+".w_1", []int{size, width}, o.Init, false),
		g.dense(o.Name+".b_1", []int{width}, o.Init, false)}
	if o.Mask != nil {
		in = append(in, o.Mask)
	}
	return apply(o.Name, unit, in...)
}

// stateOf is the shape of the states at all positions.
func stateOf(unit recurrent, in []*Node) ([]int, error) {
	x, gates := in[0], unit.gates()
	if len(in) < 3 || len(x.shape) != 3 || x.shape[0] != batch || x.shape[2]%gates != 0 {
		return nil, fmt.Errorf("input %v must be the gates of a sequence, of shape [N L %d·size]", x, gates)
	}
	size := x.shape[2] / gates
	if !equalShapes(in[1].shape, []int{size, gates * size}) || !equalShapes(in[2].shape, []int{gates * size}) {
		return nil, fmt.Errorf("weights %v and %v don't fit a state of %d", in[1], in[2], size)
	}
	if len(in) > 3 && !equalShapes(in[3].shape, x.shape[:2]) {
		return nil, fmt.Errorf("mask %v does not fit: %s is needed", in[3], shapeString(x.shape[:2]))
	}
	return []int{batch, x.shape[1], size}, wantFloat(in)
}

// scan is the computation of a recurrent op over all positions, each a block of n examples.
type scan struct {
	c                      *cell
	n, l, size, width      int
	reverse                bool
	states, memories       []float32 // [L+1 N H], including the state before the first position
	gates, own             []float32 // [L N width]
	carried, up, remembers []float32 // [N H] of backward: gradients of the state between positions, of the memory
}

func scanOf(unit recurrent, c *cell) scan {
	s := scan{c: c, n: c.shape[0], l: c.shape[1], size: c.shape[2], width: unit.gates() * c.shape[2],
		reverse: unit.reversed()}
	block, wide := s.n*s.size, s.n*s.l*s.width
	all := c.scratch(2*(s.l+1)*block + 2*wide + 3*block)
	take := func(n int) (part []float32) {
		part, all = all[:n], all[n:]
		return part
	}
	s.states, s.memories = take((s.l+1)*block), take((s.l+1)*block)
	s.gates, s.own = take(wide), take(wide)
	s.carried, s.up, s.remembers = take(block), take(block), take(block)
	return s
}

// place is the index of position t, in the order of reading, of example i.
func (s scan) place(i, t int) int {
	if s.reverse {
		t = s.l - 1 - t
	}
	return i*s.l + t
}

// block returns position t of values with width numbers per example and position.
func (s scan) block(x []float32, t, width int) []float32 { return x[t*s.n*width : (t+1)*s.n*width] }

// at returns position t of example i.
func (s scan) at(i, t int) instant {
	h, w := s.size, s.width
	state := func(x []float32, t int) []float32 { return x[(t*s.n+i)*h:][:h] }
	return instant{
		x: s.c.in[0].value[s.place(i, t)*w:][:w], own: s.own[(t*s.n+i)*w:][:w], gate: s.gates[(t*s.n+i)*w:][:w],
		old: state(s.states, t), now: state(s.states, t+1), memory: state(s.memories, t), next: state(s.memories, t+1),
		down: state(s.carried, 0), up: state(s.up, 0), dMemory: state(s.remembers, 0),
	}
}

// skips reports whether example i has nothing at position t.
func (s scan) skips(i, t int) bool { return len(s.c.in) > 3 && s.c.in[3].value[s.place(i, t)] == 0 }

// forward computes the positions in the order of reading.
func (s scan) forward(unit recurrent) {
	clear(s.block(s.states, 0, s.size))
	clear(s.block(s.memories, 0, s.size))
	for t := range s.l {
		own := s.block(s.own, t, s.width)
		kernels.Gemm(false, false, s.n, s.width, s.size, s.block(s.states, t, s.size), s.c.in[1].value, own, false)
		kernels.AddBias(own, s.c.in[2].value)
		for i := range s.n {
			p := s.at(i, t)
			if s.skips(i, t) {
				copy(p.now, p.old)
				copy(p.next, p.memory)
			} else {
				unit.step(p)
			}
			copy(s.c.value[s.place(i, t)*s.size:], p.now)
		}
	}
}

// backward computes the positions from the last that was read to the first.
func (s scan) backward(unit recurrent) {
	x, w, b := s.c.in[0], s.c.in[1], s.c.in[2]
	var dx []float32
	if x.wanted {
		dx = x.sum()
	}
	clear(s.carried)
	clear(s.remembers)
	for t := s.l - 1; t >= 0; t-- {
		for i := range s.n {
			p := s.at(i, t)
			addTo(p.down, s.c.grad[s.place(i, t)*s.size:][:s.size])
			if s.skips(i, t) {
				copy(p.up, p.down)
				clear(p.own)
				continue
			}
			unit.grad(p)
			if dx != nil {
				addTo(dx[s.place(i, t)*s.width:][:s.width], p.gate)
			}
		}
		copy(s.carried, s.up)
		kernels.Gemm(false, true, s.n, s.size, s.width, s.block(s.own, t, s.width), w.value, s.carried, true)
	}
	if w.wanted {
		kernels.Gemm(true, false, s.size, s.width, s.l*s.n, s.states[:s.l*s.n*s.size], s.own, w.grad, w.adds())
	}
	if b.wanted {
		kernels.SumRows(b.grad, s.own, b.adds())
	}
}

// GRUOptions describe a gated recurrent unit.
type GRUOptions = RecurrentOptions

// GRU reads the positions of x, of shape [N L D], one after the other, with a state h of size numbers that begins at 0
// (Cho et al., 2014, with the reset gate after the product, as in cuDNN, PyTorch and Keras):
//
//	r, z = Sigmoid(x·Wr + br + h·Ur + cr), Sigmoid(x·Wz + bz + h·Uz + cz)
//	h'   = (1−z)·Tanh(x·Wn + bn + r·(h·Un + cn)) + z·h
//
// The result y is the state after each position, of shape [N L size]; Slice(y, 1, L-1, L) is the last state. W of shape
// [D 3·size] and U of shape [size 3·size] have the columns of r, z and n, in this order.
func GRU(x *Node, size int, o GRUOptions) *Node { return o.recur(gru{direction{o.Reverse}}, x, size) }

type gru struct{ direction }

func (gru) kind() string                      { return "gru" }
func (gru) passes(input int) bool             { return input < 3 }
func (gru) gates() int                        { return 3 }
func (u gru) infer(in []*Node) ([]int, error) { return stateOf(u, in) }
func (u gru) forward(c *cell)                 { scanOf(u, c).forward(u) }
func (u gru) backward(c *cell)                { scanOf(u, c).backward(u) }

func (gru) step(p instant) {
	h := len(p.now)
	kernels.Add(p.gate[:2*h], p.x[:2*h], p.own[:2*h])
	kernels.Sigmoid(p.gate[:2*h], p.gate[:2*h])
	r, z, n := p.gate[:h], p.gate[h:2*h], p.gate[2*h:]
	kernels.Mul(n, r, p.own[2*h:])
	kernels.Add(n, n, p.x[2*h:])
	kernels.Tanh(n, n)
	for j, v := range n {
		p.now[j] = v + z[j]*(p.old[j]-v)
	}
}

func (gru) grad(p instant) {
	h := len(p.down)
	r, z, n := p.gate[:h], p.gate[h:2*h], p.gate[2*h:]
	dr, dz, own, old, up := p.own[:h], p.own[h:2*h], p.own[2*h:], p.old, p.up
	for j, d := range p.down {
		up[j] = d * z[j]
		dn := d * (1 - z[j]) * (1 - n[j]*n[j])
		dz[j] = d * (old[j] - n[j]) * z[j] * (1 - z[j])
		dr[j] = dn * own[j] * r[j] * (1 - r[j])
		own[j] = dn * r[j]
		n[j] = dn
	}
	copy(p.gate[:2*h], p.own)
}

// LSTM is [GRU] with a memory m beside the state h (Hochreiter and Schmidhuber, 1997, with a forget gate):
//
//	i, f, o = Sigmoid(x·W + b + h·U + c), each with columns of its own
//	m'      = f·m + i·Tanh(x·Wg + bg + h·Ug + cg)
//	h'      = o·Tanh(m')
//
// The result is the state after each position, of shape [N L size]. W of shape [D 4·size] and U of shape [size 4·size]
// have the columns of i, f, g and o, in this order, as in PyTorch and Keras.
func LSTM(x *Node, size int, o RecurrentOptions) *Node {
	return o.recur(lstm{direction{o.Reverse}}, x, size)
}

type lstm struct{ direction }

func (lstm) kind() string                      { return "lstm" }
func (lstm) passes(input int) bool             { return input < 3 }
func (lstm) gates() int                        { return 4 }
func (u lstm) infer(in []*Node) ([]int, error) { return stateOf(u, in) }
func (u lstm) forward(c *cell)                 { scanOf(u, c).forward(u) }
func (u lstm) backward(c *cell)                { scanOf(u, c).backward(u) }

// step stores Tanh(m') for grad.
func (lstm) step(p instant) {
	h := len(p.now)
	kernels.Add(p.gate, p.x, p.own)
	in, g, out := p.gate[:h], p.gate[2*h:3*h], p.gate[3*h:]
	kernels.Sigmoid(p.gate[:2*h], p.gate[:2*h])
	kernels.Tanh(g, g)
	kernels.Sigmoid(out, out)
	kernels.Mul(p.next, p.gate[h:2*h], p.memory)
	kernels.AddMul(p.next, in, g)
	kernels.Tanh(p.own[:h], p.next)
	kernels.Mul(p.now, out, p.own[:h])
}

func (lstm) grad(p instant) {
	h := len(p.down)
	in, forget, g, out := p.gate[:h], p.gate[h:2*h], p.gate[2*h:3*h], p.gate[3*h:]
	for j, d := range p.down {
		m := p.own[j] // Tanh(m')
		dm := p.dMemory[j] + d*out[j]*(1-m*m)
		p.dMemory[j] = dm * forget[j]
		p.own[j] = dm * g[j] * in[j] * (1 - in[j])
		p.own[h+j] = dm * p.memory[j] * forget[j] * (1 - forget[j])
		p.own[2*h+j] = dm * in[j] * (1 - g[j]*g[j])
		p.own[3*h+j] = d * m * out[j] * (1 - out[j])
	}
	clear(p.up)
	copy(p.gate, p.own)
}

// Bidirectional is layer, [GRU] or [LSTM], over x twice, by params of their own: forwards and, with Reverse, backwards,
// beside each other, of shape [N L 2·size]. So each position knows all others. Name.reverse names the second. What has
// read everything is the first half of the last position, and the second half of the first.
func Bidirectional(layer func(x *Node, size int, o RecurrentOptions) *Node, x *Node, size int,
	o RecurrentOptions) *Node {
	o.Reverse = false
	forwards := layer(x, size, o)
	if o.Reverse = true; o.Name != "" {
		o.Name += ".reverse"
	}
	return Concat(forwards, layer(x, size, o))
}
