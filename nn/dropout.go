package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/optimizer"
)

// Dropout sets each element to 0 with probability p and scales the others by 1/(1−p) while training, and does nothing in an
// evaluation (Srivastava et al., 2014; the original's upscale_in_train). What is dropped depends on the graph's seed, the
// node's name and the number of the step alone.
func Dropout(x *Node, p float32) *Node { return apply("", dropout{P: p}, x) }

type dropout struct {
	P float32 `json:"p"`
}

func (dropout) kind() string { return "dropout" }

func (d dropout) infer(in []*Node) ([]int, error) {
	if !(d.P >= 0 && d.P < 1) {
		return nil, fmt.Errorf("the probability %v is not in [0, 1)", d.P)
	}
	return in[0].shape, wantFloat(in)
}

// forward keeps the factors, 0 or 1/(1−p), for backward.
func (d dropout) forward(c *cell) {
	x := c.in[0].value
	if !c.train {
		copy(c.value, x)
		return
	}
	factors := c.scratch(len(x))
	key := optimizer.Key(c.node.graph.seed+c.step, c.node.name)
	optimizer.Uniform{Low: 0, High: 1}.Fill(factors, key)
	for i, u := range factors {
		factors[i] = 0
		if u >= d.P {
			factors[i] = 1 / (1 - d.P)
		}
		c.value[i] = x[i] * factors[i]
	}
}

func (dropout) backward(c *cell) { addProduct(c.in[0], c.grad, c.scratch(len(c.grad))) }
