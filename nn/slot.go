package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Slot declares an int64 feed with any number of ids per example. It is fed as two tensors: all ids, of shape [total],
// under its name, and N+1 increasing offsets from 0 to total under name.offsets; example i has the ids from offset i up
// to offset i+1. The ids may be uint64, as in [Graph.IDs]. Use it with [EmbeddingPool].
func (g *Graph) Slot(name string) *Node { return g.add(name, feed{Type: slots}) }

// SlotValues declares a float32 feed with a number for each id of a slot, such as the values of LibSVM's features or
// TF-IDF. It is fed like a slot, with as many numbers per example as the slot has ids. Use it with
// [EmbeddingPoolWeighted].
func (g *Graph) SlotValues(name string) *Node { return g.add(name, feed{Type: slotValues}) }

// Pool says how the rows of an example's ids are combined into one.
type Pool string

// The pools: the sum of the rows, their mean, their sum divided by the root of their number, and the largest of each
// column, whose gradient goes to the first of equal rows. Without rows the result is zeros. Padding ids have no row,
// but PoolMean and PoolSqrtN count them, as PaddlePaddle does; PoolMeanUnpadded divides by the number of the other ids.
const (
	PoolSum   Pool = "sum"
	PoolMean  Pool = "mean"
	PoolSqrtN Pool = "sqrtn"
	PoolMax   Pool = "max"

	PoolMeanUnpadded Pool = "mean_unpadded"
)

func (p Pool) check() error {
	if !slices.Contains([]Pool{PoolSum, PoolMean, PoolSqrtN, PoolMax, PoolMeanUnpadded}, p) {
		return fmt.Errorf("unknown pool %q; want sum, mean, sqrtn, max or mean_unpadded", p)
	}
	return nil
}

// EmbeddingPool looks up the ids of a slot in a table and pools each example's rows to one: the result has shape [N
// Dim].
func EmbeddingPool(slot *Node, pool Pool, o EmbeddingOptions) *Node {
	return pooledEmbedding(slot, nil, pool, o)
}

// EmbeddingPoolWeighted is [EmbeddingPool] of rows times the value beside each id, values being a [Graph.SlotValues] of
// as many numbers: with PoolSum Σ v·row, with PoolMean that divided by Σ v, and with PoolSqrtN by √Σ v²; zeros where
// these are 0. There is no PoolMax, and values get no gradient.
func EmbeddingPoolWeighted(slot, values *Node, pool Pool, o EmbeddingOptions) *Node {
	if values == nil {
		return apply("", embeddingPool{}, slot, values)
	}
	return pooledEmbedding(slot, values, pool, o)
}

func pooledEmbedding(slot, values *Node, pool Pool, o EmbeddingOptions) *Node {
	if slot == nil || slot.bad {
		return apply("", embeddingPool{}, slot)
	}
	in := []*Node{slot, slot.graph.table(o)}
	if values != nil {
		in = append(in, values)
	}
	return apply("", embeddingPool{Pool: pool, padded: padded{o.PaddingIdx}}, in...)
}

type embeddingPool struct {
	padded
	Pool Pool `json:"pool"`
}

func (embeddingPool) kind() string { return "embedding_pool" }

func (e embeddingPool) infer(in []*Node) ([]int, error) {
	slot, table := in[0], in[1]
	if !isSlot(slot) {
		return nil, fmt.Errorf("input %v is not a slot, whose ids %v could look up", slot, table)
	}
	if !isTable(table) {
		return nil, fmt.Errorf("%v is not a table that ids of %v could be looked up in", table, slot)
	}
	if len(in) > 2 && (!isSlotValues(in[2]) || e.Pool == PoolMax) {
		return nil, fmt.Errorf("%v has no values for the ids of %v that %q could weigh rows by", in[2], slot, e.Pool)
	}
	return []int{batch, table.shape[1]}, e.Pool.check()
}

func (e embeddingPool) forward(c *cell) {
	t := c.in[1].table
	dim := t.param.Dim()
	clear(c.value)
	c.pool(e.Pool, func(example, before int, row int32, factor float32) {
		e.Pool.fold(c.value[example*dim:(example+1)*dim], t.w[int(row)*dim:(int(row)+1)*dim], before, factor)
	})
}

func (e embeddingPool) backward(c *cell) {
	t, dim := c.in[1].table, c.cols()
	if !c.in[1].wanted {
		return
	}
	left := e.Pool.left(c)
	c.pool(e.Pool, func(example, _ int, row int32, factor float32) {
		lo, hi, at, end := example*dim, (example+1)*dim, int(row)*dim, (int(row)+1)*dim
		e.Pool.pass(t.rows.G[at:end], left[lo:hi], t.w[at:end], c.value[lo:hi], factor)
	})
}

// fold adds a row to the pooled rows before it.
func (p Pool) fold(y, row []float32, before int, factor float32) {
	switch {
	case p != PoolMax:
		kernels.Axpy(factor, row, y)
	case before == 0:
		copy(y, row)
	default:
		for i, v := range row {
			if v > y[i] || v != v {
				y[i] = v
			}
		}
	}
}

// left returns the gradient that rows share; for PoolMax a copy, from which rows remove their parts.
func (p Pool) left(c *cell) []float32 {
	if p != PoolMax {
		return c.grad
	}
	return append(c.scratch(len(c.grad))[:0], c.grad...)
}

// pass adds to the gradient of a row; y is the pooled value.
func (p Pool) pass(dx, left, row, y []float32, factor float32) {
	if p != PoolMax {
		kernels.Axpy(factor, left, dx)
		return
	}
	for i, v := range row {
		if v == y[i] {
			dx[i] += left[i]
			left[i] = 0
		}
	}
}

// pool calls f for every id that is looked up: with its example, the number of ids before it, its row in the step, and
// the row's factor. Padding has no row.
func (c *cell) pool(p Pool, f func(example, before int, row int32, factor float32)) {
	offsets := c.in[0].offsets
	value := func(int) float64 { return 1 }
	if len(c.in) > 2 {
		value = func(at int) float64 { return float64(c.in[2].value[at]) }
	}
	for i := range c.rows() {
		from, to := int(offsets[i]), int(offsets[i+1])
		sum, squares := 0.0, 0.0
		for at := from; at < to; at++ {
			if c.index[at] >= 0 || p != PoolMeanUnpadded {
				sum, squares = sum+value(at), squares+value(at)*value(at)
			}
		}
		factor, before := p.factor(sum, squares), 0
		for at := from; at < to; at++ {
			if row := c.index[at]; row >= 0 {
				f(i, before, row, factor*float32(value(at)))
				before++
			}
		}
	}
}

// factor is the factor of a row, given the sum of the values and that of their squares.
func (p Pool) factor(sum, squares float64) float32 {
	switch {
	case p == PoolSum || p == PoolMax:
		return 1
	case sum == 0 || squares == 0:
		return 0
	case p == PoolSqrtN:
		return float32(1 / math.Sqrt(squares))
	}
	return 1 / float32(sum)
}
