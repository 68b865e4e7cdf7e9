package nn

import (
	"fmt"
	"math"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Dropout sets each element to 0 with probability p and scales the others by 1/(1−p) while training, and does nothing
// in an evaluation (Srivastava et al., 2014; the original's upscale_in_train). The choice depends on the graph's seed,
// the node's name, the worker, its thread and the number of the thread's step in the job, which is part of checkpoints
// of all params: every step of a job drops different elements, and a job that resumes from a checkpoint drops the same
// elements as an undisturbed one. A thread that has made steps continues its own count if its trainer loads a
// checkpoint.
func Dropout(x *Node, p float32) *Node { return apply("", dropout{P: p}, x) }

type dropout struct {
	P float32 `json:"p"`
}

func (dropout) kind() string { return "dropout" }
func (dropout) byExample()   {}

func (d dropout) infer(in []*Node) ([]int, error) {
	if !(d.P >= 0 && d.P < 1) {
		return nil, fmt.Errorf("the probability %v is not in [0, 1)", d.P)
	}
	return in[0].shape, wantFloat(in)
}

// forward stores the factors, 0 or 1/(1−p), for backward.
func (d dropout) forward(c *cell) {
	x := c.in[0].value
	if !c.train {
		copy(c.value, x)
		return
	}
	factors := c.scratch(len(x))
	d.draw(factors, c.turn.key(c.node), c.first*c.cols())
	kernels.Mul(c.value, x, factors)
}

// draw sets each factor, the first being that of element at, from 32 random bits, the halves of a splitmix64
// generator's numbers.
func (d dropout) draw(factors []float32, key uint64, at int) {
	keep, dropped := 1/(1-d.P), uint64(float64(d.P)*(1<<32))
	choice := [2]float32{keep, 0}
	const step = 0x9e3779b97f4a7c15
	key += step * uint64((at+1)/2)
	bits := kernels.Mix(key)
	for i := range factors {
		bits >>= 32
		if (at+i)%2 == 0 {
			key += step
			bits = kernels.Mix(key)
		}
		// the sign of a difference, without a branch that can't be predicted
		factors[i] = choice[(bits&math.MaxUint32-dropped)>>63]
	}
}

func (dropout) backward(c *cell) { addProduct(c.in[0], c.grad, c.scratch(len(c.grad))) }
