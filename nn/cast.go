package nn

import (
	"fmt"
	"math"
)

// Cast is x with elements of another type, of the same shape; x itself when they are of that type already. Int64
// becomes the nearest float32, which is the same number up to 2²⁴; float32 is cut to whole numbers, towards 0, and has
// to be one that int64 can hold. No gradient passes. An embedding can't look up the result of a Cast: its ids are fed,
// since the rows of a step are pulled before anything is computed.
func Cast(x *Node, to DType) *Node {
	if x != nil && !x.bad && !varies(x) && !isTable(x) && to == x.dtype() {
		return x
	}
	return apply("", cast{to}, x)
}

// dtype is the type of the node's elements.
func (n *Node) dtype() DType {
	if isInt(n) {
		return Int64
	}
	return Float32
}

type cast struct {
	To DType `json:"to"`
}

func (cast) kind() string { return "cast" }

func (o cast) infer(in []*Node) ([]int, error) {
	x := in[0]
	switch {
	case o.To != Float32 && o.To != Int64:
		return nil, fmt.Errorf("input %v can't become %q; want float32 or int64", x, o.To)
	case varies(x) || isTable(x):
		return nil, fmt.Errorf("input %v has no elements to cast: it is looked up with an embedding", x)
	case o.To == x.dtype():
		return nil, fmt.Errorf("input %v is %s already", x, o.To)
	}
	return x.shape, nil
}

// limits are those of int64, for a cast to it.
func (o cast) limits(*Node) []limit {
	if o.To == Float32 {
		return nil
	}
	return []limit{{between: &span{-1 << 63, math.Nextafter32(1<<63, 0), false}, why: "no number that int64 can hold"}}
}

func (o cast) forward(c *cell) {
	x := c.in[0]
	if o.To == Int64 {
		for i, v := range x.value {
			c.ids[i] = int64(v)
		}
		return
	}
	for i, id := range x.ids {
		c.value[i] = float32(id)
	}
}

func (cast) backward(*cell) {}
