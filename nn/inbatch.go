package nn

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// InBatchOptions change an [InBatchSoftmax].
type InBatchOptions struct {
	// Temperature divides the scores; 0 means 1.
	Temperature float32
	// LogQ is a float32 feed of shape [N 1]: the logarithm of how often each item is in a batch, as [Frequencies]
	// estimates it. It is subtracted from the item's scores; without it frequent items score too low, since they are
	// negatives more often. It gets no gradient.
	LogQ *Node
	// IDs is an int64 feed of shape [N 1]: the ids of the items. The same item in another row does not count as a
	// negative.
	IDs *Node
}

// InBatchSoftmax trains two towers, of users and of items, both of shape [N D]: row i of both belong together, and the
// items of the batch's other rows are the negatives. With s = user·itemᵀ/Temperature − LogQ the loss, of shape [N 1],
// is
//
//	ln Σⱼ exp(sᵢⱼ) − sᵢᵢ
//
// over i itself and the items j with another id (Yi et al., 2019). It is 0 if there is no other item. The negatives
// come from one worker's own batch, or from one thread's.
func InBatchSoftmax(user, item *Node, o InBatchOptions) *Node {
	in := []*Node{user, item}
	for _, n := range []*Node{o.LogQ, o.IDs} {
		if n != nil {
			in = append(in, n)
		}
	}
	return apply("", inBatchSoftmax{o.Temperature, o.LogQ != nil, o.IDs != nil}, in...)
}

type inBatchSoftmax struct {
	Temperature float32 `json:"temperature,omitempty"`
	LogQ        bool    `json:"log_q,omitempty"`
	IDs         bool    `json:"ids,omitempty"`
}

func (inBatchSoftmax) kind() string { return "in_batch_softmax" }
func (inBatchSoftmax) mixes()       {}
func (inBatchSoftmax) bitwise()     {}

func (o inBatchSoftmax) infer(in []*Node) ([]int, error) {
	user, item := in[0], in[1]
	if !(o.Temperature >= 0) {
		return nil, fmt.Errorf("temperature is %v: it must be above 0", o.Temperature)
	}
	if len(user.shape) != 2 || user.shape[0] != batch || !equalShapes(user.shape, item.shape) {
		return nil, fmt.Errorf("users and items of one shape [N D] are needed, not %v and %v", user, item)
	}
	floats, want := in, 2
	if o.LogQ {
		want++
	}
	if o.IDs {
		want++
		if ids := in[len(in)-1]; !isInt(ids) {
			return nil, fmt.Errorf("IDs %v are not int64", ids)
		}
		floats = in[:len(in)-1]
	}
	if len(in) != want {
		return nil, fmt.Errorf("%d inputs where there should be %d", len(in), want)
	}
	for _, n := range in[2:] {
		if n.shape[0] != batch || n.perExample() != 1 {
			return nil, fmt.Errorf("%v is not one number an example", n)
		}
	}
	return []int{batch, 1}, wantFloat(floats)
}

// forward stores the probabilities [N N] for backward.
func (o inBatchSoftmax) forward(c *cell) {
	user, item, n := c.in[0], c.in[1], c.rows()
	p := c.scratch(n * n)
	kernels.Gemm(false, true, n, n, user.cols(), user.value, item.value, p, false)
	if inverse := o.inverse(); inverse != 1 {
		kernels.Scale(inverse, p)
	}
	o.leaveOut(c, p)
	for i := range n {
		row := p[i*n : (i+1)*n]
		if o.LogQ {
			kernels.Axpy(-1, c.in[2].value, row)
		}
		own := float64(row[i])
		top, sum := kernels.Exponentials(row, row)
		kernels.Scale(1/sum, row)
		c.value[i] = float32(float64(top) + math.Log(float64(sum)) - own)
	}
}

// leaveOut removes other rows of the same item from an item's negatives.
func (o inBatchSoftmax) leaveOut(c *cell, scores []float32) {
	if !o.IDs {
		return
	}
	ids, n := c.in[len(c.in)-1].ids, c.rows()
	order := c.scratchInts(n) // rows of the same item are adjacent
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(ids[a], ids[b]) })
	for at, i := range order {
		for _, j := range order[at+1:] {
			if ids[j] != ids[i] {
				break
			}
			scores[int(i)*n+int(j)] = float32(math.Inf(-1))
			scores[int(j)*n+int(i)] = float32(math.Inf(-1))
		}
	}
}

func (o inBatchSoftmax) inverse() float32 {
	if o.Temperature == 0 {
		return 1
	}
	return 1 / o.Temperature
}

func (o inBatchSoftmax) backward(c *cell) {
	user, item, n := c.in[0], c.in[1], c.rows()
	ds := c.scratch(n * n)
	for i, g := range c.grad {
		row := ds[i*n : (i+1)*n]
		row[i]--
		kernels.Scale(g*o.inverse(), row)
	}
	if user.wanted {
		kernels.Gemm(false, false, n, user.cols(), n, ds, item.value, user.grad, user.adds())
	}
	if item.wanted {
		kernels.Gemm(true, false, n, item.cols(), n, ds, user.value, item.grad, item.adds())
	}
}
