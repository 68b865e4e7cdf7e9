package nn

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/optimizer"
)

// A node with one element is an objective.
var _ optimizer.Objective = (*Node)(nil)

// Params implements [optimizer.Objective]: the parameters that the node is computed from, in order of construction.
func (n *Node) Params() []*optimizer.Param {
	if n.bad {
		return nil
	}
	return paramsOf(behind(n.graph, []*Node{n}))
}

// Bind implements [optimizer.Objective]: the graph's executors train this node from now on. If it can't be trained,
// that becomes the graph's error.
func (n *Node) Bind(t optimizer.Trainer) {
	if err := n.minimizable(); err != nil {
		n.graph.fail(err)
		return
	}
	n.graph.mu.Lock()
	defer n.graph.mu.Unlock()
	n.graph.objective, n.graph.trainer, n.graph.turns = n, t, nil
}

// Minimizable is an optional method of [optimizer.Objective]: it returns the graph's first mistake, or why this node is
// not a loss, or that its graph is minimised already. A second trainer would take over its executors, and the first
// would train nothing.
func (n *Node) Minimizable() error {
	if err := n.minimizable(); err != nil {
		return err
	}
	if loss, trainer := n.graph.bound(); trainer != nil {
		return fmt.Errorf("nn: %s can't be minimised: a trainer has this graph already, for %s: build a graph for "+
			"each trainer", n.label(), loss.label())
	}
	return nil
}

func (n *Node) minimizable() error {
	if n == nil {
		return errors.New("nn: nothing to minimise: the loss is nil")
	}
	if err := n.Err(); err != nil {
		return err
	}
	if err := n.trainable(); err != nil {
		return fmt.Errorf("nn: %s can't be minimised: %w", n.label(), err)
	}
	return nil
}

func (n *Node) trainable() error {
	if size := product(n.shape); size != 1 {
		return fmt.Errorf("a loss has shape [1], it has %s: take its Mean", shapeString(n.shape))
	}
	if n.rises {
		return errors.New("it is declared HigherIsBetter, and a loss is minimised: minimise its negative, by Scale")
	}
	if !n.trains() {
		return errors.New("it depends on no parameter that can be trained")
	}
	return nil
}

// bound returns the loss that is minimised and its trainer, nil before Minimize.
func (g *Graph) bound() (*Node, optimizer.Trainer) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.objective, g.trainer
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
