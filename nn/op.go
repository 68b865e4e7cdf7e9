package nn

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// op is the computation of a node. Ops are plain data: the state of a step is in the cell, so that many executors can
// run one graph. Exported fields are the op's attributes in a saved graph.
type op interface {
	// kind names the op in errors, default names and saved graphs.
	kind() string
	// infer returns the shape of the value, or what is wrong with the inputs.
	infer(in []*Node) ([]int, error)
	// forward sets c.value from the values of c.in.
	forward(c *cell)
	// backward sets, or adds to, the gradients of the inputs that want one, given c.grad.
	backward(c *cell)
}

// inPlacer is an op that may overwrite its input's value and gradient with its own: elementwise, and its backward reads
// only its own output, or nothing.
type inPlacer interface{ inPlace() }

// overwritable is an op whose backward does not read its own output, so that the node after it may overwrite it.
type overwritable interface{ overwritable() }

// mixer is an op whose value for one example also depends on the batch's other examples.
type mixer interface{ mixes() }

// bitwise is an op that treats ids as bits, whether they are fed as int64 or as uint64.
type bitwise interface{ bitwise() }

// grouping is an op whose third input says of which group a row is.
type grouping interface{ groups() }

// readsBits reports whether an op only looks ids of an input up or compares them.
func readsBits(o op, input int) bool {
	switch o.(type) {
	case lookup, bitwise:
		return true
	case grouping:
		return input == 2
	}
	return false
}

// passer is an op that does not pass gradients to all of its inputs.
type passer interface{ passes(input int) bool }

// typed is an op whose value is not always float32.
type typed interface{ dtype() DType }

// naming is an op whose nodes are named by another word than its kind.
type naming interface{ called() string }

// called is the word by which nodes of an op are named.
func called(o op) string {
	if n, ok := o.(naming); ok {
		return n.called()
	}
	return o.kind()
}

// byExample is an op that computes each example of its value from that example of its inputs and from inputs without
// examples, to whose gradients it adds example by example, in order. Portions of a cell, some of its examples each, can
// therefore be cells themselves: cores compute them concurrently, with the same bits as for the whole.
type byExample interface{ byExample() }

// multiplier is an op by example that multiplies rows by a matrix. Portions of few rows aren't worth a product. The
// matrix gets its gradient from the whole cell at once, whose sums have their own order.
type multiplier interface {
	byExample
	rowsOf(c *cell) int
}

// byUnit is work in units that can be computed separately, such as places of the last dimension of a cell.
type byUnit interface {
	units(c *cell, from, to, part int)
}

// lookup is an op that looks up the ids of its first input in its second, a table.
type lookup interface {
	op
	// padding is the id that is not looked up, nil for none.
	padding() *int64
}

// limiter is an op with limits on the values of its inputs.
type limiter interface {
	// limits returns the limits of node n.
	limits(n *Node) []limit
}

// weigher is an op whose second input weighs the first: it gets no gradient.
type weigher interface{ weighs() }

// metric is an op that counts over batches. It has no gradient.
type metric interface {
	op
	// tally returns empty counts of a node for one executor.
	tally(n *Node) tally
	// of returns the metric of the counts.
	of(t tally) float64
}

// ofBatch is a metric of the last batch only.
type ofBatch interface {
	metric
	batchAlone()
}

// tally is a metric's counts in one executor since the last reset.
type tally interface {
	reset()
	// problem returns what is wrong with the values counted, or nil.
	problem() error
}

func forgets(m metric) bool {
	_, ok := m.(ofBatch)
	return ok
}

// comparer is an op that compares its first input with its second, such as a label, which gets no gradient.
type comparer interface{ compares() }

// recipe makes an op from its attributes in a saved graph, and has the number of its inputs.
type recipe struct {
	make     func(attrs json.RawMessage) (op, error)
	min, max int
}

const maxInputs = 1 << 20

// bare is the recipe of an op without attributes.
func bare(o op, inputs int) recipe {
	return recipe{func(attrs json.RawMessage) (op, error) {
		if len(attrs) > 0 {
			return nil, fmt.Errorf("attributes %s: it has none", attrs)
		}
		return o, nil
	}, inputs, inputs}
}

func decode[T op](attrs json.RawMessage) (op, error) {
	var o T
	if len(attrs) == 0 {
		return o, nil
	}
	d := json.NewDecoder(bytes.NewReader(attrs))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return nil, fmt.Errorf("attributes: %w", err)
	}
	return o, nil
}
