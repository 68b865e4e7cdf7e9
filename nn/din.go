package nn

import "fmt"

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
