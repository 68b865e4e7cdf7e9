package nn

import (
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/optimizer"
	"gorgonia.org/tensor"
)

// cell is the state of a node in one executor: its value in this step, its gradient, and the memory of both, which
// grows to the largest batch seen.
type cell struct {
	node *Node
	in   []*cell

	shape []int     // of this step's value
	value []float32 // row-major; W of a parameter
	fed
	index []int32 // for an embedding: the row in its table of each id
	train bool    // this step has a backward pass

	wanted bool // the loss depends on a trained parameter through this cell
	// for a lookup: it has no gradient of the loss, so that training reads its rows without changing them
	beside  bool
	grad    []float32 // of the loss with respect to value, when wanted
	written bool      // grad has been written in this step

	stored
	tally  tally // for a metric
	silent bool  // this step only counts into it: its value stays what it was
	// shared guards the tally if other executors also count into it.
	shared *sharedCounts
	turn   turn // the number of this training step, for ops that draw random numbers

	room
	cores *cores  // the executor's
	call  *OpCall // for a user's op
	first int     // for a portion: the index of its first example
	out   fetched
}

// fed is the data of feeds other than floats.
type fed struct {
	ids     []int64 // the value of an int64 feed
	wide    bool    // ids are uint64
	offsets []int64 // for a slot: the beginnings of its examples, and the end of the last
	// offsetsName is the name of the feed with the offsets of a slot.
	offsetsName string
}

// stored is the data of variables, which outlasts a step.
type stored struct {
	param *optimizer.Param // owned by the executor
	// finite reports that all numbers are finite and will not change, since there is no trainer.
	finite bool
	// packed returns finite numbers, laid out for products; nil if none are stored.
	packed func() *kernels.Packed
	table  *table    // for an embedding
	moved  []float32 // for a moving average: this executor's update of it
	news   bool      // moved has changes that the trainer has not received
}

// adds reports whether a gradient must be added to c.grad; the first writer of a step replaces it.
func (c *cell) adds() bool {
	before := c.written
	c.written = true
	return before
}

// sum returns c.grad for adding to: zeros before the first writer of a step.
func (c *cell) sum() []float32 {
	if !c.adds() {
		clear(c.grad)
	}
	return c.grad
}

// rows is the first dimension of the value, cols the number of elements of a row.
func (c *cell) rows() int { return c.shape[0] }
func (c *cell) cols() int { return product(c.shape[1:]) }

// room is the memory of a cell, which is kept from step to step.
type room struct {
	values, grads []float32 // of value and grad
	// scratch of the op
	floats  []float32
	ints    []int32
	doubles []float64
	casts   []float32 // labels that were fed as int64
}

// scratch returns n floats that keep their contents from forward to backward.
func (r *room) scratch(n int) []float32 {
	r.floats = grown(r.floats, n)
	return r.floats
}

// scratchInts is scratch for int32.
func (r *room) scratchInts(n int) []int32 {
	r.ints = grown(r.ints, n)
	return r.ints
}

// sums returns n zeros for adding to.
func (r *room) sums(n int) []float64 {
	r.doubles = grown(r.doubles, n)
	clear(r.doubles)
	return r.doubles
}

// kept is the size of the op's memory, in numbers of 32 bits.
func (r *room) kept() int { return cap(r.floats) + cap(r.ints) + 2*cap(r.doubles) + cap(r.casts) }

// grown returns s with length n, in new memory if the capacity is too small: first of the length asked for, later with
// some reserve, so that lengths that vary from step to step soon need no more allocations.
func grown[T any](s []T, n int) []T {
	if cap(s) >= n {
		return s[:n]
	}
	if cap(s) == 0 {
		return make([]T, n)
	}
	return make([]T, n, n+n/4)
}

// fetched is a value as a tensor for the user. The tensor is reused as long as it describes the same memory.
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

// widened returns a copy of ids as uint64, as they were fed.
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

// addProduct adds dy·factor to the gradient of x.
func addProduct(x *cell, dy, factor []float32) {
	if !x.wanted {
		return
	}
	kernels.AddMul(x.sum(), dy, factor)
}

// passScaled passes a gradient to an input, times a factor.
func passScaled(x *cell, grad []float32, factor float32) {
	switch {
	case !x.wanted:
	case x.adds():
		kernels.Axpy(factor, grad, x.grad)
	default:
		kernels.Scaled(x.grad, grad, 0, factor)
	}
}

func addTo(dst, x []float32) { kernels.Add(dst, dst, x) }

// probability is the last column of the i-th row.
func (c *cell) probability(i int) float32 {
	width := c.cols()
	return c.value[i*width+width-1]
}

// positive reports whether the i-th label is above 0.
func (c *cell) positive(i int) bool {
	if isInt(c.node) {
		return c.ids[i] > 0
	}
	return c.value[i] > 0
}

// unlabelled reports whether the i-th label is NaN.
func (c *cell) unlabelled(i int) bool { return !isInt(c.node) && c.value[i] != c.value[i] }

// settle sets the gradient to zero if no path reached the cell.
func (c *cell) settle() {
	if !c.written && c.table == nil {
		clear(c.grad)
	}
}

// row returns the r-th example's part of the value.
func (c *cell) row(r int) []float32 {
	cols := c.cols()
	return c.value[r*cols : (r+1)*cols]
}

// number returns element i as float64, for either type.
func (c *cell) number(i int) float64 {
	if isInt(c.node) {
		return float64(c.ids[i])
	}
	return float64(c.value[i])
}

// addProducts adds the columns of dy·factor to dst.
func addProducts(dst, dy, factor []float32) {
	for at := 0; at < len(dy); at += len(dst) {
		kernels.AddMul(dst, dy[at:at+len(dst)], factor[at:at+len(dst)])
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

// sharedCounts are the tallies of executors that count together, the threads of one training. A metric of the batch
// alone is not shared.
type sharedCounts struct {
	sync.Mutex // also guards the tallies
	tallies    map[*Node]tally
}

// of returns the tally of a metric for all executors.
func (s *sharedCounts) of(n *Node, m metric) tally {
	s.Lock()
	defer s.Unlock()
	if s.tallies == nil {
		s.tallies = map[*Node]tally{}
	}
	if s.tallies[n] == nil {
		s.tallies[n] = m.tally(n)
	}
	return s.tallies[n]
}

// forward computes the cell, with the lock of its counts if other executors share them.
func (c *cell) forward() {
	if c.shared != nil {
		c.shared.Lock()
		defer c.shared.Unlock()
	}
	c.node.op.forward(c)
}

// see gives a metric the value of its counts.
func (c *cell) see() {
	if t, is := c.tally.(*groups); is {
		c.value[0] = t.now()
		return
	}
	c.value[0] = float32(c.node.op.(metric).of(c.tally))
}

// seen is see of a metric whose counts other executors may share.
func (c *cell) seen() {
	if c.shared != nil {
		c.shared.Lock()
		defer c.shared.Unlock()
	}
	c.see()
}

// problem returns what is wrong with a metric's counts, or nil.
func (c *cell) problem() error {
	if c.shared != nil {
		c.shared.Lock()
		defer c.shared.Unlock()
	}
	if err := c.tally.problem(); err != nil {
		return fmt.Errorf("nn: %s: %w", c.node.label(), err)
	}
	return nil
}

// turn is a training step among all steps of a job: its worker, its thread, and its number among the thread's.
type turn struct {
	worker, thread int
	number         uint64 // from 1
}

// last is the last dimension of the value.
func (c *cell) last() int { return c.shape[len(c.shape)-1] }

// pass passes a gradient on unchanged.
func pass(x *cell, grad []float32) {
	switch {
	case !x.wanted:
	case x.adds():
		addTo(x.grad, grad)
	default:
		copy(x.grad, grad)
	}
}

// turns are the last steps of the threads that have trained a graph, by thread and number of threads.
type turns map[[2]int]turn
