package nn

// Mean is the mean of all elements, of shape [1]; 0 for an empty batch.
func Mean(x *Node) *Node { return apply("", mean{}, x) }

type mean struct{}

func (mean) kind() string { return "mean" }

func (mean) infer(in []*Node) ([]int, error) { return []int{1}, wantFloat(in) }

func (mean) forward(c *cell) {
	c.value[0] = 0
	if x := c.in[0].value; len(x) > 0 {
		c.value[0] = float32(sum64(x) / float64(len(x)))
	}
}

func (mean) backward(c *cell) {
	if x := c.in[0]; x.wanted {
		each, dx := c.grad[0]/float32(len(x.value)), x.sum()
		for i := range dx {
			dx[i] += each
		}
	}
}

// sum64 adds in float64, so that the mean of a large batch stays exact enough.
func sum64(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v)
	}
	return s
}
