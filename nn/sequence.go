package nn

import (
	"fmt"

	"github.com/gofleet/gofleet/internal/kernels"
)

// Sequence is the rows of each example's ids in order, for layers that depend on position.
type Sequence struct {
	// Rows has shape [N length Dim]: the row of each id, and zeros at positions without an id.
	Rows *Node
	// Mask has shape [N length]: 1 where there is an id that is no padding, else 0.
	Mask *Node
	// Positions has shape [N length]: 1, 2, 3 and so on for the ids that are no padding, else 0.
	Positions *Node
}

// EmbeddingSequence looks up the ids of a slot, or of a feed of shape [N k], in a table and keeps their rows separate,
// unlike [EmbeddingPool], which combines them. For a slot, an example's ids start at the first position; if it has more
// than length ids, only the last length are looked up. For another feed, length is k, or 0 for the same. An example
// without ids has rows and a mask of zeros.
//
// A learned row for each position, as Transformers have, is added to the rows: Add(s.Rows, g.Parameter(o, length,
// dim)).
func EmbeddingSequence(ids *Node, length int, o EmbeddingOptions) Sequence {
	if ids == nil || ids.bad {
		bad := apply("", embeddingSequence{}, ids)
		return Sequence{bad, bad, bad}
	}
	if length == 0 && !isSlot(ids) {
		length = ids.perExample()
	}
	return Sequence{
		Rows:      apply("", embeddingSequence{padded{o.PaddingIdx}, length}, ids, ids.graph.table(o)),
		Mask:      apply("", sequenceMask{PaddingIdx: o.PaddingIdx, Length: length}, ids),
		Positions: apply("", sequenceMask{PaddingIdx: o.PaddingIdx, Length: length, Count: true}, ids),
	}
}

type embeddingSequence struct {
	padded
	Length int `json:"length"`
}

func (embeddingSequence) kind() string  { return "embedding_sequence" }
func (embeddingSequence) byExample()    {}
func (embeddingSequence) overwritable() {}

func (e embeddingSequence) infer(in []*Node) ([]int, error) {
	table := in[1]
	if !isTable(table) {
		return nil, fmt.Errorf("%v is not a table that ids of %v could be looked up in", table, in[0])
	}
	if err := sequential(in[0], e.Length); err != nil {
		return nil, err
	}
	return []int{batch, e.Length, table.shape[1]}, nil
}

// sequential returns an error for inputs without ids for so many positions.
func sequential(ids *Node, length int) error {
	if !isSlot(ids) && (!isInt(ids) || !isFeed(ids)) {
		return fmt.Errorf("input %v is neither a slot nor an int64 feed of ids", ids)
	}
	if length < 1 || !isSlot(ids) && length != ids.perExample() {
		return fmt.Errorf("a length of %d does not fit %v: a slot needs 1 or more, and ids [N k] have k", length, ids)
	}
	return nil
}

// kept returns the number of an example's ids that have a position, and of those before them that have none.
func kept(ids *cell, example, length int) (before, n int) {
	if !isSlot(ids.node) {
		return 0, length
	}
	all := int(ids.offsets[example+1] - ids.offsets[example])
	return max(0, all-length), min(all, length)
}

// each calls f for every position with a row: with its place among all positions, and its row in the step.
func (e embeddingSequence) each(c *cell, f func(at int, row int32)) {
	next := 0
	for i := range c.rows() {
		_, n := kept(c.in[0], i, e.Length)
		for j, row := range c.index[next : next+n] {
			if row >= 0 {
				f(i*e.Length+j, row)
			}
		}
		next += n
	}
}

func (e embeddingSequence) forward(c *cell) {
	t, dim := c.in[1].table, c.shape[2]
	clear(c.value)
	e.each(c, func(at int, row int32) { copy(c.value[at*dim:(at+1)*dim], t.w[int(row)*dim:]) })
}

func (e embeddingSequence) backward(c *cell) {
	if !c.in[1].wanted {
		return
	}
	t, dim := c.in[1].table, c.shape[2]
	e.each(c, func(at int, row int32) {
		kernels.Axpy(1, c.grad[at*dim:(at+1)*dim], t.rows.G[int(row)*dim:(int(row)+1)*dim])
	})
}

// sequenceMask marks the positions of a sequence that have an id, or numbers them.
type sequenceMask struct {
	PaddingIdx *int64 `json:"padding_idx,omitempty"`
	Length     int    `json:"length"`
	Count      bool   `json:"count,omitempty"`
}

func (sequenceMask) kind() string   { return "sequence_mask" }
func (sequenceMask) bitwise()       {}
func (sequenceMask) backward(*cell) {}
func (m sequenceMask) infer(in []*Node) ([]int, error) {
	return []int{batch, m.Length}, sequential(in[0], m.Length)
}

func (m sequenceMask) forward(c *cell) {
	ids, padding, next := c.in[0], m.PaddingIdx, 0
	if padding != nil && *padding < 0 && ids.wide {
		padding = nil
	}
	clear(c.value)
	for i := range c.rows() {
		before, n := kept(ids, i, m.Length)
		next += before
		count := float32(0)
		for j, id := range ids.ids[next : next+n] {
			if padding != nil && id == *padding {
				continue
			}
			count++
			c.value[i*m.Length+j] = 1
			if m.Count {
				c.value[i*m.Length+j] = count
			}
		}
		next += n
	}
}

// SequencePool makes one row of a sequence's rows, of shape [N L D]: their sum, mean, sum by the root of their number,
// or the largest of each column (PoolMax), as the original's sequence_pool. mask, of shape [N L], is 1 at positions
// that count; with nil all count. If none counts, the row is zeros. The mask gets no gradient.
func SequencePool(x, mask *Node, pool Pool) *Node {
	if mask == nil {
		return apply("", sequencePool{Pool: pool}, x)
	}
	return apply("", sequencePool{Pool: pool}, x, mask)
}

type sequencePool struct {
	Pool Pool `json:"pool"`
}

func (sequencePool) kind() string { return "sequence_pool" }
func (sequencePool) byExample()   {}
func (sequencePool) weighs()      {}

func (p sequencePool) infer(in []*Node) ([]int, error) {
	x := in[0]
	if err := p.Pool.check(); err != nil {
		return nil, err
	}
	if len(x.shape) != 3 || x.shape[0] != batch {
		return nil, fmt.Errorf("input %v is not of shape [N L D]", x)
	}
	if len(in) > 1 && !equalShapes(in[1].shape, x.shape[:2]) {
		return nil, fmt.Errorf("mask %v does not fit %v", in[1], x)
	}
	return []int{batch, x.shape[2]}, wantFloat(in)
}

// each calls f for every position that counts: with its example, its row of x, the number of positions before it that
// count, and its factor.
func (p sequencePool) each(c *cell, f func(example, at, before int, factor float32)) {
	length := c.in[0].shape[1]
	counts := func(at int) bool { return len(c.in) == 1 || c.in[1].value[at] != 0 }
	for i := range c.rows() {
		n := 0
		for at := i * length; at < (i+1)*length; at++ {
			if counts(at) {
				n++
			}
		}
		factor, before := p.Pool.factor(float64(n), float64(n)), 0
		for at := i * length; at < (i+1)*length; at++ {
			if counts(at) {
				f(i, at, before, factor)
				before++
			}
		}
	}
}

func (p sequencePool) forward(c *cell) {
	x, dim := c.in[0].value, c.shape[1]
	clear(c.value)
	p.each(c, func(example, at, before int, factor float32) {
		p.Pool.fold(c.value[example*dim:(example+1)*dim], x[at*dim:(at+1)*dim], before, factor)
	})
}

func (p sequencePool) backward(c *cell) {
	in, dim := c.in[0], c.shape[1]
	if !in.wanted {
		return
	}
	dx, left := in.sum(), p.Pool.left(c)
	p.each(c, func(example, at, _ int, factor float32) {
		lo, hi := example*dim, (example+1)*dim
		p.Pool.pass(dx[at*dim:(at+1)*dim], left[lo:hi], in.value[at*dim:(at+1)*dim], c.value[lo:hi], factor)
	})
}
