package nn

import "fmt"

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

// readsBits reports whether an op only looks ids up or compares them.
func readsBits(o op) bool {
	switch o.(type) {
	case lookup, bitwise:
		return true
	}
	return false
}

// wantFloat returns an error for int64 feeds and tables where numbers are needed.
func wantFloat(in []*Node) error {
	for _, n := range in {
		if isSlot(n) {
			return fmt.Errorf("input %v holds int64, float32 is needed", n)
		}
		if isSlotValues(n) {
			return fmt.Errorf("input %v has any number of values an example: their use is EmbeddingPoolWeighted", n)
		}
		if isInt(n) {
			return fmt.Errorf("input %v holds int64, float32 is needed: Cast makes it float32", n)
		}
		if isTable(n) {
			return fmt.Errorf("input %v is a table: look ids up in it with Embedding", n)
		}
	}
	return nil
}

// sameShape returns an error for two inputs of different shapes.
func sameShape(in []*Node) error {
	if err := wantFloat(in); err != nil {
		return err
	}
	if !equalShapes(in[0].shape, in[1].shape) {
		return differ(in)
	}
	return nil
}

func differ(in []*Node) error { return fmt.Errorf("shapes differ: %v and %v", in[0], in[1]) }
