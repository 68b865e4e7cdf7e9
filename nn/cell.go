package nn

import (
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// cell is a node at work in one executor: its value in this step, its gradient, and the memory both lie in, which grows
// to the largest batch seen.
type cell struct {
	node *Node
	in   []*cell

	shape []int     // of this step's value
	value []float32 // row-major; of a parameter its W
	fed
	index []int32 // of an embedding: the row of its table for each id
	train bool    // this step has a backward pass

	wanted bool // the loss reaches a trained parameter through here
	// of a lookup: no gradient of the loss comes here, so that training reads its rows and leaves them as they are
	beside  bool
	grad    []float32 // of the loss with respect to value, when wanted
	written bool      // grad holds something in this step

	stored
	tally tally // of a metric
	// shared guards the tally where other executors count into it too.
	shared *sharedCounts
	turn   turn // this training step, for ops that draw random numbers

	room
	cores *cores  // that the executor has
	call  *OpCall // of a user's op
	first int     // of a portion: which example its first is
	out   fetched
}

// fed is what feeds have that are no floats.
type fed struct {
	ids     []int64 // the value of an int64 feed
	wide    bool    // ids are uint64
	offsets []int64 // of a slot: where its examples begin, and the end of the last
	// offsetsName is the feed that the offsets of a slot are fed as.
	offsetsName string
}

// stored is what variables have, whose numbers outlast a step.
type stored struct {
	param *optimizer.Param // the executor's own
	// finite says that its numbers are, and stay: no trainer keeps it.
	finite bool
	// packed are numbers that are finite, laid out for products; nil where none are kept.
	packed func() *kernels.Packed
	table  *table    // of an embedding
	moved  []float32 // of a moving average: what this executor makes of it
	news   bool      // moved holds what the trainer has not been told
}

// adds says whether a gradient has to be added to what c.grad holds; the first writer of a step replaces it.
func (c *cell) adds() bool {
	before := c.written
	c.written = true
	return before
}

// sum returns c.grad ready to be added to: zero before the first writer of a step.
func (c *cell) sum() []float32 {
	if !c.adds() {
		clear(c.grad)
	}
	return c.grad
}

// rows is the first dimension of the value, and cols the number of elements behind it.
func (c *cell) rows() int { return c.shape[0] }
func (c *cell) cols() int { return product(c.shape[1:]) }

// room is the memory of a cell, which stays from step to step.
type room struct {
	values, grads []float32 // of value and grad
	// scratch of the op
	floats  []float32
	ints    []int32
	doubles []float64
	casts   []float32 // labels that were fed as int64
}

// scratch returns n floats that keep what the op put there from forward to backward.
func (r *room) scratch(n int) []float32 {
	r.floats = grown(r.floats, n)
	return r.floats
}

// scratchInts is scratch for int32.
func (r *room) scratchInts(n int) []int32 {
	r.ints = grown(r.ints, n)
	return r.ints
}

// sums returns n numbers to add to, all zero.
func (r *room) sums(n int) []float64 {
	r.doubles = grown(r.doubles, n)
	clear(r.doubles)
	return r.doubles
}

// kept is how much there is for the op, in numbers of 32 bits.
func (r *room) kept() int { return cap(r.floats) + cap(r.ints) + 2*cap(r.doubles) + cap(r.casts) }

// grown is s with length n, in new memory when it has too little: first what is asked for, later some more, so that
// lengths that vary from step to step settle soon.
func grown[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	if cap(s) == 0 {
		return make([]T, n)
	}
	return make([]T, n, n+n/4)
}

// fetched is a value as the user gets it. The tensor is kept as long as it describes the same memory.
type fetched struct {
	tensor *tensor.Dense
	first  any
	shape  []int
}

// fetch returns the value as a tensor over the cell's memory.
func (c *cell) fetch() *tensor.Dense {
	switch {
	case c.wide:
		return fetchOf(&c.out, widened(c.ids), c.shape)
	case isInt(c.node):
		return fetchOf(&c.out, c.ids, c.shape)
	}
	return fetchOf(&c.out, c.value, c.shape)
}

// widened is a copy of ids as the uint64 that were fed.
func widened(ids []int64) []uint64 {
	out := make([]uint64, len(ids))
	for i, id := range ids {
		out[i] = uint64(id)
	}
	return out
}

func fetchOf[T any](f *fetched, data []T, shape []int) *tensor.Dense {
	if p, ok := f.first.(*T); ok && len(data) > 0 && p == &data[0] && equalShapes(f.shape, shape) {
		return f.tensor
	}
	f.shape = append(f.shape[:0], shape...)
	f.tensor = tensor.New(tensor.WithShape(f.shape...), tensor.WithBacking(data))
	if len(data) > 0 {
		f.first = &data[0]
	}
	return f.tensor
}
