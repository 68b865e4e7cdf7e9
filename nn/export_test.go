package nn

import (
	"strings"

	"gorgonia.org/tensor"
)

// Examined is an op that sits the exam of nn/nntest, which this package's own tests can't import.
type Examined struct {
	Name  string
	Sized bool // Make's case depends on its sizes
	Make  func(n int, dim func() int) ExaminedCase
}

// ExaminedCase is what an op is at some sizes.
type ExaminedCase struct {
	Inputs           []ExaminedInput
	Build            func(in []*Node) *Node
	Twin             func(in [][]float64) []float64
	Mixed, TrainOnly bool
}

// ExaminedInput is an input of an op.
type ExaminedInput struct {
	Shape        []int
	Low, High    float64
	Whole, Fixed bool
	Make         func(shape []int, g *Graph, feeds map[string]*tensor.Dense, name string, v []float64) *Node
}

// ExaminedOps are all that have a gradient, and some layers made of them.
func ExaminedOps() (all []Examined) {
	sized := map[string]bool{}
	for _, c := range sizedCases {
		sized[c.name] = true
		all = append(all, Examined{c.name, true, func(n int, dim func() int) ExaminedCase { return c.make(n, dim).examined(c.name) }})
	}
	for _, c := range gradientCases {
		if !sized[c.name] {
			all = append(all, Examined{c.name, false, func(int, func() int) ExaminedCase { return c.examined(c.name) }})
		}
	}
	return all
}

func (c gradientCase) examined(name string) ExaminedCase {
	e := ExaminedCase{Build: c.build, Twin: c.twin, TrainOnly: strings.HasPrefix(name, "batch_norm"), Mixed: strings.HasPrefix(name, "in_batch") || strings.HasPrefix(name, "group_pairs")}
	for i, a := range c.args {
		in := ExaminedInput{a.shape, a.lo, a.hi, false, a.kind == parameter || a.kind == tableRows,
			func(shape []int, g *Graph, feeds map[string]*tensor.Dense, name string, v []float64) *Node {
				own := a
				if !varying[a.kind] {
					own.shape = shape // one example's, where it is computed alone
				}
				return own.node(g, feeds, name, v)
			}}
		if varying[a.kind] {
			in.Shape, e.Mixed = []int{len(a.draw(uint32(i)))}, true // examples can't be cut
		}
		in.Whole = a.kind == labels || a.kind == slot || a.kind == ragged
		e.Inputs = append(e.Inputs, in)
	}
	return e
}

// varying are inputs of any number of elements an example.
var varying = map[argKind]bool{slot: true, ragged: true, raggedValues: true}
