package nn

import (
	"errors"
	"fmt"
)

// Shared returns a layer, or layers, that uses one set of parameters wherever it is applied. The first call makes the
// parameters; each further call builds the same operations on another input with the same parameters, whose gradients
// add up.
//
//	tower := nn.Shared(func(x *nn.Node) *nn.Node {
//		h := nn.Linear(x, 64, nn.LinearOptions{Name: "tower", Act: nn.ReLU})
//		return nn.Linear(h, 32, nn.LinearOptions{})
//	})
//	query, answer := tower(a), tower(b)
//
// All inputs must have the same number of elements per example. layer must depend only on its input. Nodes of the
// further calls have names of their own (tower_0), so that each call drops its own elements in Dropout; batch norm
// moves its averages once for each call. A shared layer may be part of another, made outside it or within. Embeddings
// don't need Shared: lookups with the same name share one table.
func Shared(layer func(x *Node) *Node) func(x *Node) *Node {
	s := &sharing{}
	return func(x *Node) *Node {
		if x == nil || x.bad {
			return layer(x)
		}
		g := x.graph
		around := g.sharing
		if !around.holds(s) {
			y := layer(x)
			if y != nil {
				y.spoil(errors.New("a shared layer is applied first in a further call of another: make it outside, " +
					"or apply it in each call"))
			}
			return y
		}
		g.sharing, s.next, s.at = s, 0, 0
		y := layer(x)
		g.sharing = around
		if s.made && s.next != len(s.params) && y != nil && !y.bad {
			y.spoil(fmt.Errorf("a shared layer takes %d parameters where it is applied first, and %d here: it has to "+
				"do the same each time", len(s.params), s.next))
		}
		s.made = true
		return y
	}
}

// sharing is the parameters of a shared layer, in the order of use.
type sharing struct {
	params []*Node
	made   bool // the first call is complete
	next   int
	inner  []*sharing // the shared layers that the first call applies, in order
	at     int        // the next one of inner
}

// holds records a shared layer that is applied within this one. In a further call it stands for the layer of the first
// call at the same place; false means that there is none.
func (s *sharing) holds(inner *sharing) bool {
	if s == nil {
		return true
	}
	if !s.made {
		s.inner = append(s.inner, inner)
		return true
	}
	s.at++
	if !inner.made && s.at <= len(s.inner) {
		*inner = *s.inner[s.at-1]
	}
	return inner.made
}

// upcoming returns the parameter that a shared layer uses next, nil if it has to be made.
func (s *sharing) upcoming() *Node {
	if s == nil || !s.made {
		return nil
	}
	s.next++
	if s.next > len(s.params) {
		return nil
	}
	return s.params[s.next-1]
}

// keep records a parameter that a shared layer has made.
func (s *sharing) keep(n *Node) *Node {
	if s != nil && !s.made {
		s.params = append(s.params, n)
	}
	return n
}

// fits returns an error node for an input for which a shared layer would need other parameters.
func (n *Node) fits(shape []int) *Node {
	if n.bad || equalShapes(n.shape, shape) {
		return n
	}
	wrong := n.graph.newNode(n.name, n.op)
	return wrong.spoil(fmt.Errorf("the shared layer made it of shape %s, and is applied here to what needs %s",
		shapeString(n.shape), shapeString(shape)))
}
