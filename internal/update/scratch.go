package update

import (
	"cmp"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/gradient"
)

// scratch is the memory that an update needs.
type scratch struct {
	t        *Tables
	u        *Update
	samples  []int
	factors  []float32
	dense    []float32
	members  [][]float32 // dense gradients, by push
	portions []*portion
	inUse    int // of the portions
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// gather prepares an update's pushes.
func (c *scratch) gather(t *Tables, u *Update) {
	c.t, c.u, c.samples, c.members = t, u, c.samples[:0], c.members[:0]
	for _, p := range u.Pushes {
		c.samples, c.members = append(c.samples, p.Samples), append(c.members, p.Dense)
	}
	c.factors = gradient.Factors(c.factors[:0], t.o.Weighting, c.samples)
	c.cut()
}

// release returns the memory for another update.
func (c *scratch) release() {
	c.t, c.u = nil, nil
	clear(c.members)
	scratches.Put(c)
}

// cut makes the portions of a round. A push that is an update of its own is not cut: other cores have other updates to
// apply.
func (c *scratch) cut() {
	l, round := c.t.layout, c.u.Pushes
	c.inUse = 0
	for e := range l.Embeddings {
		var longest []uint64
		for _, p := range round {
			if ids := p.Rows[e].IDs; len(ids) > len(longest) {
				longest = ids
			}
		}
		n := 1
		if len(round) > 1 {
			n = max(1, min(runtime.GOMAXPROCS(0), len(longest)/portionRows))
		}
		for k := range n {
			p := c.portion()
			p.embedding, p.param, p.dim = e, l.Embeddings[e].Index, l.Embeddings[e].Dim()
			p.assign(round, longest, k, n)
		}
	}
}

// portion returns the memory of one more portion.
func (c *scratch) portion() *portion {
	if c.inUse == len(c.portions) {
		c.portions = append(c.portions, new(portion))
	}
	c.inUse++
	return c.portions[c.inUse-1]
}

// each calls do for every portion, on as many cores as are worth it, and returns the first error in the portions'
// order.
func (c *scratch) each(do func(*scratch, *portion) error) error {
	portions := c.portions[:c.inUse]
	switch len(portions) {
	case 0:
		return nil
	case 1:
		return c.one(portions[0], do)
	}
	errs := make([]error, len(portions))
	var next atomic.Int32
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(portions); i = int(next.Add(1)) - 1 {
			errs[i] = c.one(portions[i], do)
		}
	}
	var others sync.WaitGroup
	for range c.helpers() {
		others.Go(work)
	}
	work()
	others.Wait()
	return cmp.Or(errs...)
}

// one calls do for one portion.
func (c *scratch) one(p *portion, do func(*scratch, *portion) error) (err error) {
	defer caught(&err)
	if c.u.Label != nil {
		c.u.Label(c.t.layout.Params[p.param].Name)
	}
	return do(c, p)
}

// helpers is the number of goroutines that are worth their start, besides the current one.
func (c *scratch) helpers() int {
	rows := 0
	for _, p := range c.portions[:c.inUse] {
		for m := range p.members {
			rows += len(p.members[m].IDs)
		}
	}
	return min(runtime.GOMAXPROCS(0), c.inUse, rows/portionRows+1) - 1
}
