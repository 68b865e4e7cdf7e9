package nn

import "github.com/gofleet/gofleet/internal/kernels"

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
func GRU(x *Node, size int, o GRUOptions) *Node { return o.recur(gru{}, x, size) }

type gru struct{}

func (gru) kind() string                      { return "gru" }
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
