package nn

import "fmt"

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
