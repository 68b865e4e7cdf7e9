package table

import "slices"

// Serving selects the rows of a model for serving: the rows that matter, or with Delta those of them that have changed
// enough since such a model was last saved.
//
// In a table with ShowClick a row matters if its score is at least BaseThreshold, and if no more than Keep periods have
// ended since it was used; it has changed enough if its delta score, the score of the shows and clicks since it was
// saved, is at least DeltaThreshold. In other tables every row matters, and every change is enough. A rule that sweeps
// changes all rows.
type Serving struct {
	Delta bool
	// Params are the names of the model's tables.
	Params []string
	// BaseThreshold below 0 is none, DeltaThreshold below 0 takes every change, and Keep below 0 keeps all.
	BaseThreshold  float64
	DeltaThreshold float64
	Keep           int
}

// Served are the rows that a model for serving takes; Gone are other rows of the models before it, which it must not
// have, since they were dropped or do not matter any more; both ascend. Left is the number of other rows that have
// changed since such a model was saved, or that exist for a model that is no delta: thresholds exclude them.
type Served struct {
	Rows, Gone []uint64
	Left       int
}

// Chain names the models for serving that were saved of a store: a base and the deltas since, each of which follows the
// one before it. The zero value means none.
type Chain struct {
	Base   string `json:"base"`
	Last   string `json:"last"` // the base if there are no deltas
	Deltas int    `json:"deltas,omitempty"`
	// Serial is the number of the last model among all models for serving of a job and of the jobs that it continues.
	Serial int `json:"serial,omitempty"`
	// Model is the checksum of the base's files without its weights.
	Model string `json:"model,omitempty"`
	// Generation is the generation of the job that saved the last model. It is empty if another model may have been
	// saved after that: the weights came from a checkpoint, or the saving process may have ended in the middle of it.
	Generation string `json:"generation,omitempty"`
}

// Next returns the chain with one more model.
func (c Chain) Next(delta bool, name string) Chain {
	if !delta {
		c.Base, c.Deltas = name, -1
	}
	c.Last, c.Deltas, c.Serial = name, c.Deltas+1, c.Serial+1
	return c
}

// Doubted returns the chain after which another model may have been saved.
func (c Chain) Doubted() Chain {
	c.Generation = ""
	return c
}

// Chain returns the models that were saved of the store.
func (s *Store) Chain() Chain {
	if c := s.chain.Load(); c != nil {
		return *c
	}
	return Chain{}
}

// SetChain sets the models that were saved of the store.
func (s *Store) SetChain(c Chain) { s.chain.Store(&c) }

// Select returns the rows of every table for a model for serving. No push may be under way until [Store.Serve].
func (s *Store) Select(o Serving) []Served {
	all := make([]Served, len(s.Tables))
	for i, t := range s.Tables {
		if slices.Contains(o.Params, t.param.Name) {
			all[i] = o.of(t)
		}
	}
	return all
}

// Serve marks what Select has listed as served by a whole model, and sets the chain.
func (s *Store) Serve(all []Served, now Chain) {
	for i, t := range s.Tables {
		all[i].serve(t)
	}
	s.SetChain(now)
}

// of returns the rows of a table for a model for serving.
func (o Serving) of(t *Sparse) (all Served) {
	now := t.clock.Load()
	for i := range t.shards {
		s, more := &t.shards[i], true
		for from := uint32(0); more; from += 1 << s.arena.shift {
			more = s.selects(&t.kind, o, now, from, &all)
		}
		s.Lock()
		all.Gone = append(all.Gone, s.gone...)
		s.Unlock()
	}
	slices.Sort(all.Rows)
	taken := func(id uint64) bool { _, is := slices.BinarySearch(all.Rows, id); return is }
	all.Gone = slices.DeleteFunc(settled(all.Gone), taken) // dropped, and there again
	return all
}

// selects searches the chunk that begins with row from, and reports whether there are more.
func (s *shard) selects(k *kind, o Serving, now, from uint32, all *Served) (more bool) {
	s.Lock()
	defer s.Unlock()
	end := min(from+1<<s.arena.shift, s.arena.rows)
	for row := from; row < end; row++ {
		h := s.arena.at(row)
		switch {
		case h.step == isFree:
		case !o.matters(k, h, now):
			if h.seen&served != 0 {
				all.Gone = append(all.Gone, h.id)
			}
			all.Left += o.left(k, h)
		case !o.Delta || o.changed(k, h):
			all.Rows = append(all.Rows, h.id)
		default:
			all.Left += o.left(k, h)
		}
	}
	return end < s.arena.rows
}

// matters reports whether a model for serving is to have a row.
func (o Serving) matters(k *kind, h *header, now uint32) bool {
	if !k.marked {
		return true
	}
	if seen := h.seen & ^uint32(flags); o.Keep >= 0 && now > seen && uint64(now-seen) > uint64(o.Keep) {
		return false
	}
	return o.BaseThreshold < 0 || k.rate(*k.marks(h)) >= o.BaseThreshold
}

// left is 1 for a row that thresholds exclude, and 0 if a delta has nothing new of it.
func (o Serving) left(k *kind, h *header) int {
	if o.Delta && !k.sweeps && h.seen&newer == 0 {
		return 0
	}
	return 1
}

// changed reports whether a row has changed enough.
func (o Serving) changed(k *kind, h *header) bool {
	if k.marked && o.DeltaThreshold >= 0 {
		return float64(*k.delta(h)) >= o.DeltaThreshold
	}
	return k.sweeps || h.seen&newer != 0
}

// serve marks rows as served, and Gone rows as not. All shows and clicks of a row that no model has are new to serving.
func (all Served) serve(t *Sparse) {
	t.each(all.Rows, func(h *header) {
		h.seen = h.seen&^newer | served | changed
		if t.marked {
			*t.delta(h) = 0
		}
	})
	t.each(all.Gone, func(h *header) {
		if h.seen&served == 0 {
			return
		}
		h.seen = h.seen&^served | newer | changed
		if t.marked {
			*t.delta(h) = float32(t.rate(*t.marks(h)))
		}
	})
	if len(all.Rows) == 0 && len(all.Gone) == 0 {
		return // also if the model does not have the table
	}
	for i := range t.shards {
		s := &t.shards[i]
		s.Lock()
		s.gone = nil
		s.Unlock()
	}
}

// each calls do with those of the rows that exist.
func (t *Sparse) each(ids []uint64, do func(*header)) {
	c := t.calls.Get().(*call)
	defer t.calls.Put(c)
	for ids := range slices.Chunk(ids, batch) {
		c.largest = c.group(ids, len(t.shards), t.seed)
		c.prepare(nil, Clicks{}, 0, 0)
		for i := range t.shards {
			t.runShard(i, c.of(i), c, func(t *Sparse, s *shard, _ *call, b *block) {
				s.image.keep(&t.kind, b)
				for _, h := range b.rows[:len(b.items)] {
					if h != nil {
						do(h)
					}
				}
			})
		}
	}
}

// ofServing returns the bits of a row for [Columns.Served].
func (h *header) ofServing() (is uint32) {
	if h.seen&served != 0 {
		is |= IsServed
	}
	if h.seen&newer == 0 {
		is |= IsAsServed
	}
	return is
}

// flags returns the bits for a row's seen.
func (r Row) flags() (f uint32) {
	if !r.AsServed {
		f |= newer
	}
	if r.Served {
		f |= served
	}
	return f
}
