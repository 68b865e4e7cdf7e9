package nn

import (
	"fmt"
	"slices"
)

// DType is the element type of a node.
type DType string

// The types of feeds, and results of [Cast]. All other values are float32.
const (
	Float32 DType = "float32"
	Int64   DType = "int64"

	slots DType = "slot" // int64, of varying length
	// slotValues are float32, of varying length
	slotValues DType = "slot_values"
	wideIDs    DType = "uint64" // another type for ids in feeds
)

// feed is a node whose value is given in each batch.
type feed struct {
	Type DType `json:"type"`
	Dims []int `json:"dims"` // of one example
}

// Input declares a float32 feed. dims are the dimensions of one example: a batch of N has shape [N dims...].
func (g *Graph) Input(name string, dims ...int) *Node {
	return g.add(name, feed{Float32, slices.Clone(dims)})
}

// IDs declares an int64 feed of shape [N dims...]: ids to look up in an embedding, or class labels. They must not be
// negative. Ids that are only looked up may also be fed as uint64, from 0 to 2⁶⁴−1.
func (g *Graph) IDs(name string, dims ...int) *Node {
	return g.add(name, feed{Int64, slices.Clone(dims)})
}

func (feed) kind() string { return "input" }

func (f feed) infer([]*Node) ([]int, error) {
	if f.Type != Float32 && f.Type != Int64 && (!f.varies() || len(f.Dims) > 0) {
		return nil, fmt.Errorf("type %q with dimensions %v is not known", f.Type, f.Dims)
	}
	for i, d := range f.Dims {
		if d <= 0 {
			return nil, fmt.Errorf("dimension %d of %v is not positive (the batch is left out)", i, f.Dims)
		}
	}
	return append([]int{batch}, f.Dims...), nil
}

func (feed) forward(*cell)  {}
func (feed) backward(*cell) {}

// varies reports whether examples differ in length.
func (f feed) varies() bool { return f.Type == slots || f.Type == slotValues }

func varies(n *Node) bool {
	f, ok := n.op.(feed)
	return ok && f.varies()
}

func isSlotValues(n *Node) bool { return varies(n) && !isSlot(n) }

func isSlot(n *Node) bool {
	f, ok := n.op.(feed)
	return ok && f.Type == slots
}

// isInt reports whether the node's elements are int64, as a feed's or a cast's are.
func isInt(n *Node) bool {
	switch o := n.op.(type) {
	case feed:
		return o.Type == Int64
	case cast:
		return o.To == Int64
	}
	return false
}

func isFeed(n *Node) bool {
	_, ok := n.op.(feed)
	return ok
}
