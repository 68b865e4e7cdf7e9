package server

import (
	"sync"

	"github.com/gofleet/gofleet/internal/gradient"
)

// scratch is the memory that folding a round needs.
type scratch struct {
	s        *Server
	update   update
	samples  []int
	factors  []float32
	dense    []float32
	pieces   [][]float32
	portions []*portion
	inUse    int // of the portions
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// fold makes one gradient of an update's and applies it. It returns how many rows a table's policies dropped.
func (s *Server) fold(u update) (dropped int, err error) {
	c := scratches.Get().(*scratch)
	defer scratches.Put(c)
	c.begin(s, u)
	if err := c.each((*portion).fold); err != nil {
		return 0, err
	}
	dense, err := s.compensate(u.pushes, c.foldDense())
	if err != nil {
		return 0, err
	}
	if dense, err = s.shorten(c, u.round, dense); err != nil {
		return 0, err
	}
	if err := s.applyDense(u, dense); err != nil {
		return 0, err
	}
	err = c.each((*portion).apply)
	for _, p := range c.portions[:c.inUse] {
		dropped += p.dropped
	}
	return dropped, err
}

// begin takes up a round's gradients.
func (c *scratch) begin(s *Server, u update) {
	c.s, c.update, c.samples, c.pieces = s, u, c.samples[:0], c.pieces[:0]
	for _, p := range u.pushes {
		c.samples = append(c.samples, p.samples)
		c.pieces = append(c.pieces, p.dense)
	}
	c.factors = gradient.Factors(c.factors[:0], s.c.Strategy.Weighting, c.samples)
	c.cut()
}

// foldDense is the round's dense gradient; that of a round of one is the worker's own.
func (c *scratch) foldDense() []float32 {
	if len(c.pieces) == 1 {
		return c.pieces[0]
	}
	if n := len(c.pieces[0]); cap(c.dense) < n {
		c.dense = make([]float32, n)
	}
	c.dense = c.dense[:len(c.pieces[0])]
	gradient.FoldDense(c.dense, c.pieces, c.factors)
	return c.dense
}

// applyDense updates the dense blocks with a gradient. An update of one push leaves it the weights that its answer has, if it asks.
func (s *Server) applyDense(u update, g []float32) error {
	var a *foreseen
	if len(u.pushes) == 1 {
		a = u.pushes[0].foreseen
	}
	before := s.version.Load()
	for i, b := range s.c.Layout.Parts[s.c.Index].Blocks {
		d, g := s.store.Blocks[i].Values, g[b.At:][:b.Size]
		var err error
		if a == nil {
			err = d.Push(g, u.step)
		} else {
			err = d.PushAhead(g, a.dense[b.At:][:b.Size], u.step, a.updates(before))
		}
		if err != nil {
			return err
		}
	}
	if a != nil {
		a.version = before + 1
	}
	return nil
}
