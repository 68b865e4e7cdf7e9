package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Slot declares an int64 feed of any number of ids an example. It is fed as two tensors: all ids, of shape [total], under its name,
// and under name.offsets N+1 numbers that rise from 0 to total: example i has the ids from offset i up to offset i+1. The ids
// may be uint64, as those of [Graph.IDs]. Its use is [EmbeddingPool].
func (g *Graph) Slot(name string) *Node { return g.add(name, feed{Type: slots}) }

// Pool is how the rows of an example's ids become one.
type Pool string

// The pools: the sum of the rows, their mean, and their sum divided by the root of their number. Of no rows all are zero. Ids that are
// padding have no row, and PoolMean and PoolSqrtN count them, as the original does; PoolMeanUnpadded divides by the number of the others.
const (
	PoolSum   Pool = "sum"
	PoolMean  Pool = "mean"
	PoolSqrtN Pool = "sqrtn"

	PoolMeanUnpadded Pool = "mean_unpadded"
)

// EmbeddingPool looks up the ids of a slot in a table and pools each example's rows to one: the result has shape [N Dim].
func EmbeddingPool(slot *Node, pool Pool, o EmbeddingOptions) *Node {
	if slot == nil || slot.bad {
		return apply("", embeddingPool{}, slot)
	}
	return apply("", embeddingPool{Pool: pool, padded: padded{o.PaddingIdx}}, slot, slot.graph.table(o))
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
	if !slices.Contains([]Pool{PoolSum, PoolMean, PoolSqrtN, PoolMeanUnpadded}, e.Pool) {
		return nil, fmt.Errorf("pool %q is none of sum, mean, sqrtn and mean_unpadded", e.Pool)
	}
	return []int{batch, table.shape[1]}, nil
}

func (e embeddingPool) forward(c *cell) {
	t := c.in[1].table
	dim := t.param.Dim()
	clear(c.value)
	c.pool(e.Pool, func(example int, row int32, factor float32) {
		kernels.Axpy(factor, t.w[int(row)*dim:(int(row)+1)*dim], c.value[example*dim:(example+1)*dim])
	})
}

func (e embeddingPool) backward(c *cell) {
	t, dim := c.in[1].table, c.cols()
	if !c.in[1].wanted {
		return
	}
	c.pool(e.Pool, func(example int, row int32, factor float32) {
		kernels.Axpy(factor, c.grad[example*dim:(example+1)*dim], t.rows.G[int(row)*dim:(int(row)+1)*dim])
	})
}

// pool calls f for every id that is looked up: its example, its row in the step, and what the row counts. Padding has no row.
func (c *cell) pool(p Pool, f func(example int, row int32, factor float32)) {
	offsets := c.in[0].offsets
	for i := range c.rows() {
		ids := c.index[offsets[i]:offsets[i+1]]
		n := len(ids)
		if p == PoolMeanUnpadded {
			n = 0
			for _, row := range ids {
				if row >= 0 {
					n++
				}
			}
		}
		factor := p.factor(n)
		for _, row := range ids {
			if row >= 0 {
				f(i, row, factor)
			}
		}
	}
}

func (p Pool) factor(n int) float32 {
	switch p {
	case PoolMean, PoolMeanUnpadded:
		return 1 / float32(n)
	case PoolSqrtN:
		return float32(1 / math.Sqrt(float64(n)))
	}
	return 1
}
