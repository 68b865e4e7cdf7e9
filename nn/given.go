package nn

import "slices"

// Given returns nodes that are computed as these are, in a graph of their own in which the values of some other nodes
// are fed under their names: what a loss is with other predictions. A node that depends on params in spite of that is
// nil.
func Given(given []*Node, nodes ...*Node) []*Node {
	g, made := NewGraph(0), map[*Node]*Node{}
	g.loading = true
	for _, n := range given {
		if made[n] == nil {
			made[n] = g.Input(n.name, n.shape[1:]...)
		}
	}
	return g.repeat(nodes, made, func(variable) op { return nil })
}

// Copy returns nodes that are computed as these are, in a graph of their own, whose params have the same first values.
func Copy(nodes ...*Node) []*Node {
	from, made := nodes[0].graph, map[*Node]*Node{}
	g := NewGraph(from.seed)
	g.loading = true
	all := slices.Clone(nodes)
	for _, c := range from.counts {
		all = append(all, c.feeds()...)
	}
	all = g.repeat(all, made, func(v variable) op { return variable{copyParam(v.param)} })
	g.counts = map[string]counts{}
	for name, c := range from.counts {
		g.counts[name] = counts{made[c.show], made[c.click]}
	}
	return all[:len(nodes)]
}

// repeat makes nodes once more, and all that they depend on and that is not made. A param is what of makes of it; nil
// leaves it out, with all nodes that depend on it.
func (g *Graph) repeat(nodes []*Node, made map[*Node]*Node, of func(variable) op) []*Node {
	for _, n := range behind(nodes[0].graph, nodes) {
		if _, known := made[n]; known {
			continue
		}
		made[n] = nil
		in, o := make([]*Node, len(n.in)), n.op
		for i, of := range n.in {
			in[i] = made[of]
		}
		if v, is := o.(variable); is {
			o = of(v)
		}
		if o != nil && !slices.Contains(in, nil) {
			made[n] = g.add(n.name, o, in...)
		}
	}
	copies := make([]*Node, len(nodes))
	for i, n := range nodes {
		copies[i] = made[n]
	}
	return copies
}
