package nn

import (
	"errors"
	"fmt"
)

// FM is the second-order part of a factorisation machine (Rendle, 2010): the sum of the inner products of all pairs of
// an example's vectors, ½·Σ((Σv)² − Σv²). Of fields with shape [N F D] it has shape [N 1].
func FM(fields *Node) *Node {
	if missing(fields) {
		return apply("", sum{}, fields)
	}
	if len(fields.shape) != 3 {
		err := fmt.Errorf("FM of %v: shape [N F D] is needed", fields)
		return fields.graph.newNode("", sum{}, fields).spoil(err)
	}
	squares := Sum(Square(fields), 1)
	return Scale(Reshape(Sum(Subtract(Square(Sum(fields, 1)), squares), 1), 1), 0.5, 0)
}

// CrossOptions describe a cross network.
type CrossOptions struct {
	// Name names the network: its parameters are Name.fc_0.w_0, Name.fc_0.b_0 and so on. Empty means cross_0 and so on.
	Name string
	// Layers is how many there are; 0 means 1.
	Layers int
	// Rank is that of a layer's weights, which are then a product of two narrow matrices, the first without a bias; 0
	// means full.
	Rank int
}

// Cross multiplies features with each other (DCN-v2; Wang et al., 2021): each of its layers is x₀·(W·xᵢ + b) + xᵢ,
// element by element, x₀ being x, of shape [N D].
func Cross(x *Node, o CrossOptions) *Node {
	if missing(x) {
		return apply("", linear{}, x)
	}
	if len(x.shape) != 2 || o.Layers < 0 || o.Rank < 0 {
		return x.graph.newNode(o.Name, linear{}, x).spoil(fmt.Errorf(
			"Cross of %v with %d layers of rank %d: shape [N D] is needed, and numbers from 0", x, o.Layers, o.Rank))
	}
	if o.Name == "" {
		o.Name = x.graph.free("cross")
	}
	y := x
	for i := range max(o.Layers, 1) {
		name, h := fmt.Sprintf("%s.fc_%d", o.Name, i), y
		if o.Rank > 0 {
			h = Linear(h, o.Rank, LinearOptions{Name: name + ".narrow", NoBias: true})
		}
		y = Add(Multiply(x, Linear(h, x.shape[1], LinearOptions{Name: name})), y)
	}
	return y
}

// DINOptions are the options of DIN.
type DINOptions struct {
	// Name names the unit: its parameters are Name.fc_0.w_0 and so on, the last layer's Name.score.w_0. Empty means
	// din_0 and so on.
	Name string
	// Hidden are the sizes of the layers that score a row; nil means 80 and 40.
	Hidden []int
	// Act follows each of them; nil means [Dice].
	Act func(*Node) *Node
	// Softmax normalises the weights of an example's rows to a distribution. By default the weights are the scores
	// themselves, so that more matching rows give a larger sum.
	Softmax bool
}

// DIN is the local activation unit of a deep interest network (Zhou et al., 2018): the sum of rows, of shape [N L D],
// each times a weight that layers compute from [q, k, q−k, q·k], k being the row and q the query, of shape [N D]. mask,
// of shape [N L], is 0 where there is no row; nil means none. The shape is [N D], 0 for an example without rows. The
// statistics of Dice include the rows that are left out.
func DIN(query, rows, mask *Node, o DINOptions) *Node {
	if missing(query) || missing(rows) {
		return apply("", batchMatMul{}, query, rows)
	}
	g := rows.graph
	if len(rows.shape) != 3 || len(query.shape) != 2 || query.shape[1] != rows.shape[2] {
		return g.newNode(o.Name, batchMatMul{}, rows).spoil(
			fmt.Errorf("DIN: query %v and rows %v don't fit: shapes [N D] and [N L D] are needed", query, rows))
	}
	if o.Name == "" {
		o.Name = g.free("din")
	}
	if o.Hidden == nil {
		o.Hidden = []int{80, 40}
	}
	if o.Act == nil {
		o.Act = Dice
	}
	places, width := rows.shape[1], rows.shape[2]
	h := perceptron(apply("", pairs{}, query, rows), o.Name, o.Hidden, o.Act, true)
	weights := Reshape(Linear(h, 1, LinearOptions{Name: o.Name + ".score", PerPosition: true}), places)
	switch {
	case o.Softmax && mask != nil:
		weights = MaskedSoftmax(weights, mask)
	case o.Softmax:
		weights = Softmax(weights)
	case mask != nil:
		weights = Multiply(weights, mask)
	}
	return apply(o.Name, reshape{[]int{width}}, MatMul(Reshape(weights, 1, places), rows))
}

// pairs computes [q, k, q−k, q·k] for each row k of [N L D] and the query q of [N D].
type pairs struct{}

func (pairs) kind() string  { return "pairs" }
func (pairs) byExample()    {}
func (pairs) overwritable() {}

func (pairs) infer(in []*Node) ([]int, error) {
	q, k := in[0].shape, in[1].shape
	if len(k) != 3 || k[0] != batch || !equalShapes(q, []int{batch, k[2]}) {
		return nil, fmt.Errorf("query %v and rows %v don't fit: shapes [N D] and [N L D] are needed", in[0], in[1])
	}
	return []int{batch, k[1], 4 * k[2]}, wantFloat(in)
}

func (pairs) forward(c *cell) {
	places, d, queries, rows := c.shape[1], c.shape[2]/4, c.in[0].value, c.in[1].value
	for at := range len(rows) / d {
		q, k, y := queries[at/places*d:][:d], rows[at*d:][:d], c.value[4*at*d:][:4*d]
		difference, product := y[2*d:][:d], y[3*d:][:d]
		copy(y, q)
		copy(y[d:], k)
		for i, v := range k {
			difference[i], product[i] = q[i]-v, q[i]*v
		}
	}
}

func (pairs) backward(c *cell) {
	query, rows, places, d := c.in[0], c.in[1], c.shape[1], c.shape[2]/4
	for _, in := range c.in {
		if in.wanted {
			in.sum() // the loops below only add
		}
	}
	for at := range len(rows.value) / d {
		dy := c.grad[4*at*d:][:4*d]
		dq, dk, minus, times := dy[:d], dy[d:][:d], dy[2*d:][:d], dy[3*d:][:d]
		if query.wanted {
			to, k := query.grad[at/places*d:][:d], rows.value[at*d:][:d]
			for i := range to {
				to[i] += dq[i] + minus[i] + times[i]*k[i]
			}
		}
		if rows.wanted {
			to, q := rows.grad[at*d:][:d], query.value[at/places*d:][:d]
			for i := range to {
				to[i] += dk[i] - minus[i] + times[i]*q[i]
			}
		}
	}
}

// MMoEOptions describe a mixture of experts for several tasks.
type MMoEOptions struct {
	// Name names the layer: its parameters are Name.expert_0.fc_0.w_0, Name.gate_0.w_0 and so on. Empty means mmoe_0
	// and so on.
	Name string
	// Experts is the number of networks that all tasks share, Tasks the number of mixtures.
	Experts, Tasks int
	// Hidden are the sizes of an expert's layers; the last is that of the result.
	Hidden []int
	// Act follows each layer of an expert; nil means ReLU.
	Act func(*Node) *Node
}

// MMoE gives each task a mixture of experts of its own, Σ gᵢ·fᵢ(x), fᵢ being the layers of expert i, and g the Softmax
// of x and weights of the task (Ma et al., 2018). Of x with shape [N D] there is a node of shape [N size] for each
// task.
func MMoE(x *Node, o MMoEOptions) []*Node {
	if missing(x) || o.check() != nil {
		return o.refuse(x)
	}
	if o.Name == "" {
		o.Name = x.graph.free("mmoe")
	}
	if o.Act == nil {
		o.Act = ReLU
	}
	experts := make([]*Node, o.Experts)
	for e := range experts {
		experts[e] = perceptron(x, fmt.Sprintf("%s.expert_%d", o.Name, e), o.Hidden, o.Act, false)
	}
	all := Stack(1, experts...)
	tasks := make([]*Node, o.Tasks)
	for t := range tasks {
		gate := Linear(x, o.Experts, LinearOptions{Name: fmt.Sprintf("%s.gate_%d", o.Name, t), NoBias: true,
			Act: Softmax})
		mixed := MatMul(Reshape(gate, 1, o.Experts), all)
		tasks[t] = apply(fmt.Sprintf("%s.task_%d", o.Name, t), reshape{o.Hidden[len(o.Hidden)-1:]}, mixed)
	}
	return tasks
}

func (o MMoEOptions) check() error {
	if o.Experts < 1 || o.Tasks < 1 || len(o.Hidden) == 0 {
		return errors.New("MMoE needs Experts, Tasks, and Hidden, the sizes of an expert's layers")
	}
	return nil
}

// refuse returns as many nodes as there are tasks, with the error.
func (o MMoEOptions) refuse(x *Node) []*Node {
	tasks := make([]*Node, max(o.Tasks, 1))
	for i := range tasks {
		tasks[i] = apply("", mean{}, x)
	}
	if err := o.check(); !missing(x) {
		tasks[0].spoil(err)
	}
	return tasks
}

// perceptron is linear layers one after the other, each with its activation.
func perceptron(x *Node, name string, sizes []int, act func(*Node) *Node, perPosition bool) *Node {
	for i, size := range sizes {
		x = Linear(x, size, LinearOptions{Name: fmt.Sprintf("%s.fc_%d", name, i), Act: act, PerPosition: perPosition})
	}
	return x
}
