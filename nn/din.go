package nn

import "fmt"

// DINOptions describe a unit of a deep interest network.
type DINOptions struct {
	// Name names the unit: its parameters are Name.fc_0.w_0 and so on, the last layer's Name.score.w_0. Empty means
	// din_0 and so on.
	Name string
	// Hidden are the sizes of the layers that score a row; nil is 80 and 40.
	Hidden []int
	// Act follows each of them; nil is [Dice].
	Act func(*Node) *Node
	// Softmax makes the weights of an example's rows a distribution. By default they are the scores themselves, so that
	// more rows that fit the query come to more.
	Softmax bool
}

// DIN is the local activation unit of a deep interest network (Zhou et al., 2018): the sum of rows, of shape [N L D],
// each times a weight that layers compute from [q, k, q−k, q·k], k being the row and q the query, of shape [N D]. mask,
// of shape [N L], is 0 where there is no row; nil is none. The shape is [N D], 0 for an example without rows. What Dice
// normalises by has the rows that are left out too.
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
	q := Expand(Reshape(query, 1, width), places, width)
	h := perceptron(Concat(q, rows, Subtract(q, rows), Multiply(q, rows)), o.Name, o.Hidden, o.Act, true)
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
