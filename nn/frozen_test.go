package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

func bitsOf(x []float32) (bits []uint32) {
	for _, v := range x {
		bits = append(bits, math.Float32bits(v))
	}
	return bits
}

// rowsOf are n rows of a batch from row at on.
func rowsOf(b batchOf, at, n int) batchOf {
	some := batchOf{}
	for name, t := range b {
		offsets := b[name+".offsets"]
		switch {
		case strings.HasSuffix(name, ".offsets"):
		case offsets != nil:
			o := slices.Clone(offsets.Int64s()[at : at+n+1])
			from, to := int(o[0]), int(o[n])
			for i := range o {
				o[i] -= offsets.Int64s()[at]
			}
			some[name+".offsets"] = int64sOf([]int{n + 1}, o...)
			if t.Dtype() == tensor.Float32 {
				some[name] = partOf(t, t.Float32s(), from, to-from)
			} else {
				some[name] = partOf(t, t.Int64s(), from, to-from)
			}
		case t.Dtype() == tensor.Int64:
			some[name] = partOf(t, t.Int64s(), at, n)
		case t.Dtype() == tensor.Uint64:
			some[name] = partOf(t, t.Uint64s(), at, n)
		default:
			some[name] = partOf(t, t.Float32s(), at, n)
		}
	}
	return some
}

func partOf[T any](t *tensor.Dense, all []T, at, n int) *tensor.Dense {
	each := product(t.Shape()[1:])
	return tensor.New(tensor.WithShape(append([]int{n}, t.Shape()[1:]...)...), tensor.WithBacking(all[at*each:(at+n)*each]))
}

// rowsIn is the number of examples of a batch.
func rowsIn(b batchOf) int {
	for name, t := range b {
		switch {
		case strings.HasSuffix(name, ".offsets"):
			return t.Shape()[0] - 1
		case b[name+".offsets"] == nil:
			return t.Shape()[0]
		}
	}
	return 0
}

// call computes the outputs of a frozen graph for batches, read by a call each, as one batch.
func (f *Frozen) call(t *testing.T, batches ...batchOf) [][]float32 {
	t.Helper()
	var calls []*Call
	for _, b := range batches {
		c := f.NewCall()
		law.Check(t, c.Read(b))
		if len(calls) > 0 && !calls[0].Joins(c) {
			t.Fatal("calls that can't be joined")
		}
		calls = append(calls, c)
	}
	out, err := calls[0].Compute(t.Context(), calls[1:]...)
	law.Check(t, err)
	var values [][]float32
	for _, o := range out {
		values = append(values, o.Float32s())
	}
	return values
}

// ownRow checks that rows have the bits that they have together when each is computed alone, and when calls of one row are joined.
func ownRow(t *testing.T, f *Frozen, feeds batchOf) {
	t.Helper()
	rows := rowsIn(feeds)
	var each []batchOf
	for i := range rows {
		each = append(each, rowsOf(feeds, i, 1))
	}
	all, joined := f.call(t, feeds)[0], f.call(t, each...)[0]
	if !slices.Equal(bitsOf(all), bitsOf(joined)) {
		t.Errorf("joined %v, together %v", joined, all)
	}
	width := len(all) / rows
	for i, b := range each {
		if one := f.call(t, b)[0]; !slices.Equal(bitsOf(one), bitsOf(all[i*width:(i+1)*width])) {
			t.Errorf("row %d alone %v, together %v", i, one, all[i*width:(i+1)*width])
		}
	}
}

// TestEveryOpIsOfItsRow: a row of every op has the bits that it has without other rows beside it, or the op can't be frozen.
func TestEveryOpIsOfItsRow(t *testing.T) {
	seen := 0
	for _, c := range gradientCases {
		t.Run(c.name, func(t *testing.T) {
			g, feeds := NewGraph(1), batchOf{}
			nodes := make([]*Node, len(c.args))
			for i, a := range c.args {
				nodes[i] = a.node(g, feeds, fmt.Sprintf("in%d", i), a.draw(uint32(40+i)))
			}
			f, err := Inference(c.build(nodes)).Freeze()
			if err != nil || len(feeds) == 0 {
				return
			}
			seen++
			ownRow(t, f, feeds)
		})
	}
	if seen < 40 {
		t.Errorf("only %d ops were joined", seen)
	}
}

// TestFreezeRefuses: outputs that can't be frozen are errors that say why.
func TestFreezeRefuses(t *testing.T) {
	g := NewGraph(1)
	x := g.Input("x", 1)
	for want, outputs := range map[string][]*Node{
		"no outputs":                     {},
		"not a node of the graph":        {x, nil},
		"is of all examples together":    {Mean(x)},
		"holds int64":                    {g.IDs("ids", 1)},
		"depend on the rows beside it":   {Subtract(x, Mean(x))},
		"not a node of the graph of \"x": {x, NewGraph(1).Input("y")},
	} {
		if _, err := Inference(outputs...).Freeze(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
