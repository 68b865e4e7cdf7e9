package nn

import "slices"

// Given returns nodes that are computed as these are, in a graph of their own in which the values of some other nodes
// are fed under their names: what a loss is with other predictions. A node that depends on params in spite of that is
// nil.
func Given(given []*Node, nodes ...*Node) []*Node {
	g := NewGraph(0)
	g.loading = true
	made := map[*Node]*Node{}
	for _, n := range given {
		if made[n] == nil {
			made[n] = g.Input(n.name, n.shape[1:]...)
		}
	}
	for _, n := range behind(nodes[0].graph, nodes) {
		if _, known := made[n]; known {
			continue
		}
		made[n] = nil
		in := make([]*Node, len(n.in))
		for i, of := range n.in {
			in[i] = made[of]
		}
		if !isVariable(n) && !slices.Contains(in, nil) {
			made[n] = g.add(n.name, n.op, in...)
		}
	}
	copies := make([]*Node, len(nodes))
	for i, n := range nodes {
		copies[i] = made[n]
	}
	return copies
}
