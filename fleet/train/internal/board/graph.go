package board

import (
	"strings"

	"github.com/gofleet/gofleet/internal/protowire"
	"github.com/gofleet/gofleet/nn"
)

// Graph writes the nodes and everything that they are computed from as a GraphDef: a node for each op, feed and param,
// with the shape of its value. A dot in a name becomes a slash, so that a layer's params are drawn within it.
func (w *Writer) Graph(nodes ...*nn.Node) error {
	var def protowire.Message
	seen := map[*nn.Node]bool{}
	var add func(n *nn.Node)
	add = func(n *nn.Node) {
		if seen[n] {
			return
		}
		seen[n] = true
		for _, in := range n.Inputs() {
			add(in)
		}
		def.Message(1, nodeDef(n))
	}
	for _, n := range nodes {
		add(n)
	}
	return w.event(w.last, func(m *protowire.Message) { m.Message(eventGraph, def) })
}

// nodeDef is a NodeDef: name, op, inputs, and the attribute that has the shape.
func nodeDef(n *nn.Node) protowire.Message {
	var def, shape, list, value, attr protowire.Message
	def.String(1, nodeName(n))
	def.String(2, n.Op())
	for _, in := range n.Inputs() {
		def.String(3, nodeName(in))
	}
	for _, size := range n.Shape() {
		var dim protowire.Message
		dim.Int(1, int64(size)) // -1 means unknown there too
		shape.Message(2, dim)
	}
	list.Message(7, shape)
	value.Message(1, list)
	attr.String(1, "_output_shapes")
	attr.Message(2, value)
	def.Message(5, attr)
	return def
}

// nodeName is a name in the characters that TensorFlow allows.
func nodeName(n *nn.Node) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '.':
			return '/'
		case c == '/', c == '_', c == '-', c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
			return c
		}
		return '_'
	}, strings.Trim(n.Name(), "./"))
}
