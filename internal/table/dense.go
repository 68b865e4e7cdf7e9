package table

import (
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/internal/rules"
	"github.com/gofleet/gofleet/optimizer"
)

// denseChunk is the number of weights that share a lock: readers and writers of a large block follow one another
// through it.
const denseChunk = 16 << 10

// Dense is one block of a dense variable: its weights and the rule's state. All methods may be called from many
// goroutines at once; each chunk of 16,384 weights is read and written whole.
//
// If a reader must not see half of an update, the caller ensures that (in rounds a pull waits until the round before is
// applied). Chunks are for speed: in async a worker reads one end of a large block while another's push is at the other
// end. A rule that needs the whole variable, for a norm, or whose state is not a multiple of the weights makes one
// chunk.
type Dense struct {
	rule   optimizer.Rule
	n      int
	chunks []chunk
	steps  *progress // of the store's updates; nil for a block by itself
}

// chunk is a piece of a block. Its state has the rule's layout for a slice of its length.
type chunk struct {
	sync.RWMutex
	w, state []float32
	step     int64
	memo     optimizer.State
	image    *chunkImage // of an image that needs a copy of the chunk as it was
}

// NewDense returns a block of n weights, all zero. A nil rule makes a block that is only set and read (a frozen
// variable's).
func NewDense(n int, rule optimizer.Rule) *Dense {
	size := denseChunk
	if rule != nil && (rules.NeedsWhole(rule) || rule.StateLen(size)%size != 0) {
		size = max(n, 1)
	}
	d := &Dense{rule: rule, n: n, chunks: make([]chunk, (n+size-1)/size)}
	w := make([]float32, n)
	for i := range d.chunks {
		c := &d.chunks[i]
		c.w = w[i*size : min((i+1)*size, n)]
		c.state = make([]float32, stateLen(rule, len(c.w)))
		c.initState(rule)
	}
	return d
}

func (c *chunk) initState(rule optimizer.Rule) {
	if rule != nil {
		rules.InitState(rule, c.state)
	}
}

// Len is the number of weights.
func (d *Dense) Len() int { return d.n }

// Pull copies the weights into w.
func (d *Dense) Pull(w []float32) error { return d.whole("pull", w, d.PullAt) }

// PullAt copies the weights from at on into w.
func (d *Dense) PullAt(at int, w []float32) error {
	return d.span("pull", at, w, func(c *chunk, at int, w []float32) {
		c.RLock()
		defer c.RUnlock()
		copy(w, c.w[at:])
	})
}

// Set sets the weights. State and step stay.
func (d *Dense) Set(w []float32) error { return d.whole("set", w, d.SetAt) }

// SetAt sets the weights from at on. State and step stay.
func (d *Dense) SetAt(at int, w []float32) error {
	return d.span("set", at, w, func(c *chunk, at int, w []float32) {
		c.change()
		defer c.Unlock()
		copy(c.w[at:], w)
	})
}

// whole calls do with all weights, if x has as many.
func (d *Dense) whole(what string, x []float32, do func(at int, x []float32) error) error {
	if len(x) != d.n {
		return fmt.Errorf("%w: %s of a dense block of %d weights with %d", ErrShape, what, d.n, len(x))
	}
	return do(0, x)
}

// span calls do with every chunk that the weights [at, at+len(x)) touch, the place in it where they begin, and their
// part of x.
func (d *Dense) span(what string, at int, x []float32, do func(c *chunk, at int, x []float32)) error {
	if at < 0 || at > d.n || len(x) > d.n-at {
		return fmt.Errorf("%w: %s of weights %d to %d of a dense block of %d", ErrShape, what, at, at+len(x), d.n)
	}
	for len(x) > 0 {
		size := len(d.chunks[0].w)
		c, first := &d.chunks[at/size], at%size
		n := min(len(x), len(c.w)-first)
		do(c, first, x[:n])
		at, x = at+n, x[n:]
	}
	return nil
}

// Push applies the rule with the gradients g as the update number step, or as the next one when step is 0.
func (d *Dense) Push(g []float32, step int64) error {
	if d.rule == nil {
		return d.noRule()
	}
	return d.each("push", g, func(c *chunk, g []float32) { c.push(d, g, nil, step) })
}

// PushPull is a push that also copies the new weights into w, in one walk over them.
func (d *Dense) PushPull(g, w []float32, step int64) error {
	if d.rule == nil {
		return d.noRule()
	}
	if len(w) != d.n {
		return fmt.Errorf("%w: pull of a dense block of %d weights with %d", ErrShape, d.n, len(w))
	}
	return d.each("push", g, func(c *chunk, g []float32) {
		c.push(d, g, w[:len(g)], step)
		w = w[len(g):]
	})
}

func (d *Dense) noRule() error {
	return fmt.Errorf("table: push to a dense block of %d weights that has no rule (it is frozen)", d.n)
}

func (c *chunk) push(d *Dense, g, w []float32, step int64) {
	c.change()
	defer c.Unlock()
	c.update(d, g, step)
	copy(w, c.w)
}

func (c *chunk) update(d *Dense, g []float32, step int64) {
	if step == 0 {
		step = c.step + 1
	}
	c.step = max(c.step, step)
	c.memo.Step = step
	c.memo.SetRateFactor(d.steps.factorAt(step))
	d.rule.Update(c.w, g, c.state, &c.memo)
}

// each calls do with every chunk and the part of x that belongs to it.
func (d *Dense) each(what string, x []float32, do func(*chunk, []float32)) error {
	if len(x) != d.n {
		return fmt.Errorf("%w: %s of a dense block of %d weights with %d", ErrShape, what, d.n, len(x))
	}
	for i := range d.chunks {
		c := &d.chunks[i]
		do(c, x[:len(c.w)])
		x = x[len(c.w):]
	}
	return nil
}
