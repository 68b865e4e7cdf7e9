package nn

import (
	"fmt"
	"slices"
)

// comparer is an op that compares its first input with its second, such as a label, which gets no gradient.
type comparer interface{ compares() }

// passes reports whether an op passes gradients to an input.
func passes(o op, input int) bool {
	switch o.(type) {
	case metric, detach, cast, classWeights:
		return false
	case comparer, weigher, maskedSoftmax:
		return input == 0
	case inBatchSoftmax:
		return input < 2
	case recurrent:
		return input < 3
	}
	return true
}

// reaches marks the nodes that gradients of n reach, by index.
func (n *Node) reaches() []bool {
	reached := make([]bool, len(n.graph.nodes))
	reached[n.index] = true
	for i := n.index; i >= 0; i-- {
		if !reached[i] {
			continue
		}
		for j, in := range n.graph.nodes[i].in {
			reached[in.index] = reached[in.index] || passes(n.graph.nodes[i].op, j)
		}
	}
	return reached
}

// trains reports whether gradients of the node would change a parameter.
func (n *Node) trains() bool {
	for i, reached := range n.reaches() {
		v, ok := n.graph.nodes[i].op.(variable)
		if reached && ok && !v.param.Frozen {
			return true
		}
	}
	return false
}

// swapped returns an error for a label that is computed from parameters, which would not be trained: most likely the
// label and the prediction were exchanged.
func swapped(o op, in []*Node) error {
	if _, ok := o.(comparer); !ok || len(in) < 2 || !in[1].trains() {
		return nil
	}
	do := "pass a label that the model computes, such as a teacher's, through Detach"
	if !in[0].trains() {
		do = "exchange them"
	}
	return fmt.Errorf("it takes a prediction, here %s, and a label, here %s, which gets no gradient and is computed "+
		"from parameters: %s",
		in[0].placed(), in[1].placed(), do)
}

// Prediction returns the node that a loss compares with labels, such as the probabilities of LogLoss: the first trained
// input of the only such op behind this node. It is nil if there is no such op, or several.
func (n *Node) Prediction() (pred *Node) {
	if n == nil || n.bad {
		return nil
	}
	for _, at := range behind(n.graph, []*Node{n}) {
		switch at.op.(type) {
		case metric:
			continue
		case comparer, difference:
		default:
			continue
		}
		i := slices.IndexFunc(at.in, (*Node).trains)
		switch {
		case i < 0:
		case pred == nil:
			pred = at.in[i]
		case pred != at.in[i]:
			return nil
		}
	}
	return pred
}
