package table

import "github.com/gofleet/gofleet/optimizer"

// Like returns a store with an empty block or table for each of s's whose param is wanted, in the same order, at the
// same update. It is filled and passed to Become.
func (s *Store) Like(wanted func(*optimizer.Param) bool) (*Store, error) {
	o := new(Store)
	for _, b := range s.Blocks {
		if !wanted(b.Param) {
			continue
		}
		b.Values = NewDense(b.Values.Len(), b.Values.rule)
		if err := o.AddBlock(b); err != nil {
			return nil, err
		}
	}
	for _, t := range s.Tables {
		if !wanted(t.param) {
			continue
		}
		if err := o.AddTable(t.like()); err != nil {
			return nil, err
		}
	}
	o.SetStep(s.Step())
	o.SetRateFactors(s.Factors())
	return o, nil
}

// Become gives s the blocks and tables of o, which was made by s.Like and must not be used afterwards; blocks of params
// for which keep returns true stay. Nothing may be pushed meanwhile; a concurrent reader gets each row and chunk from
// before or after.
func (s *Store) Become(o *Store, keep func(*optimizer.Param) bool) {
	for _, b := range o.Blocks {
		if own, is := s.Block(b.Name); is && !keep(b.Param) {
			own.Values.become(b.Values)
		}
	}
	for _, t := range o.Tables {
		if own, is := s.Table(t.param.Name); is {
			own.become(t)
		}
	}
	s.SetChain(o.Chain())
}

// like returns an empty table with the same assignment of ids to shards as t.
func (t *Sparse) like() *Sparse {
	o := &Sparse{entry: t.entry, times: newCallTimes()}
	o.shards, o.bound = newShards(len(t.shards), &o.entry)
	if t.tracked {
		o.Track()
	}
	o.calls.New = t.calls.New
	return o
}

func (t *Sparse) become(o *Sparse) {
	t.remade.Store(true)
	for i := range t.shards {
		s, n := &t.shards[i], &o.shards[i]
		s.Lock()
		n.waiting.tracked = s.waiting.tracked
		for _, w := range s.watches {
			clear(w.rows.words) // the row numbers are now those of other ids
		}
		s.index, s.arena, s.waiting, s.hot, s.gone, s.dropped = n.index, n.arena, n.waiting, n.hot, n.gone, nil
		s.Unlock()
	}
	if t.bound != nil {
		t.bound.rows.Store(o.bound.rows.Load())
	}
	t.clock.Store(o.clock.Load())
	t.again.Store(0)
}

func (d *Dense) become(o *Dense) {
	for i := range d.chunks {
		c, n := &d.chunks[i], &o.chunks[i]
		c.Lock()
		copy(c.w, n.w)
		copy(c.state, n.state)
		c.step = n.step
		c.Unlock()
	}
}
