package nn

import "maps"

// torchOps says how each case of torch_ops.json, which PyTorch computed, is written here.
var torchOps = map[string]func(*goldenCase) *Node{
	"broadcast_add": both(Add), "broadcast_subtract": both(Subtract), "broadcast_multiply": both(Multiply), "broadcast_divide": both(Divide),
	"expand": func(c *goldenCase) *Node { return Expand(c.batched(0), c.ints("dims")...) },
}

func init() { maps.Copy(goldenOps, torchOps) }

// ints is an attribute that is a list of whole numbers.
func (c *goldenCase) ints(name string) []int {
	list, ok := c.Attrs[name].([]any)
	if !ok {
		c.missing = append(c.missing, name)
	}
	v := make([]int, len(list))
	for i, at := range list {
		v[i] = int(at.(float64))
	}
	return v
}
