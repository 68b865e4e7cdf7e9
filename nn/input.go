package nn

import "fmt"

// dtype is what a feed holds.
type dtype string

const (
	float32s dtype = "float32"
	int64s   dtype = "int64"
	slots    dtype = "slot" // int64, of varying length
)

// feed is a node whose value the user brings.
type feed struct {
	Type dtype `json:"type"`
	Dims []int `json:"dims"` // of one example
}

// Input declares a float32 feed. dims are the dimensions of one example: a batch of N has shape [N dims...].
func (g *Graph) Input(name string, dims ...int) *Node {
	return g.add(name, feed{float32s, dims})
}

// IDs declares an int64 feed of shape [N dims...]: ids to look up in an embedding, or class labels. They are not negative.
func (g *Graph) IDs(name string, dims ...int) *Node {
	return g.add(name, feed{int64s, dims})
}

func (feed) kind() string { return "input" }

func (f feed) infer([]*Node) ([]int, error) {
	if f.Type != float32s && f.Type != int64s && (f.Type != slots || len(f.Dims) > 0) {
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

func isSlot(n *Node) bool {
	f, ok := n.op.(feed)
	return ok && f.Type == slots
}

func isInt(n *Node) bool {
	f, ok := n.op.(feed)
	return ok && f.Type == int64s
}
