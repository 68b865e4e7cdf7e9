package nn

import "github.com/gofleet/gofleet/internal/kernels"

// LSTM is [GRU] with a memory m beside the state h (Hochreiter and Schmidhuber, 1997, with a forget gate):
//
//	i, f, o = Sigmoid(x·W + b + h·U + c), each with columns of its own
//	m'      = f·m + i·Tanh(x·Wg + bg + h·Ug + cg)
//	h'      = o·Tanh(m')
//
// The result is the state after each position, of shape [N L size]. W of shape [D 4·size] and U of shape [size 4·size]
// have the columns of i, f, g and o, in this order, as in PyTorch and Keras.
func LSTM(x *Node, size int, o RecurrentOptions) *Node { return o.recur(lstm{}, x, size) }

type lstm struct{}

func (lstm) kind() string                      { return "lstm" }
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
