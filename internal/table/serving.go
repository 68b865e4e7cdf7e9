package table

import "slices"

// Serving says which rows a model for serving takes: the ones that matter, or with Delta the ones that have changed
// enough since such a model was last saved.
//
// In a table with ShowClick a row matters if its score is BaseThreshold at least, and if no more than Keep periods have
// ended since it was used; it has changed enough if its delta score is DeltaThreshold at least, that is the score of
// the shows and clicks since it was saved. In other tables every row matters, and every change is enough. A rule that
// sweeps changes all rows.
type Serving struct {
	Delta bool
	// Params are the names of the tables that the model has.
	Params []string
	// BaseThreshold below 0 is none, DeltaThreshold below 0 takes every change, and Keep below 0 keeps all.
	BaseThreshold  float64
	DeltaThreshold float64
	Keep           int
}

// Served are rows that a model for serving takes, and Gone others that the models before it have and it is not to have,
// since they were dropped or do not matter any more; both ascend. Left is how many other rows have changed since such a
// model was saved, or exist for a model that is no delta: thresholds leave them out.
type Served struct {
	Rows, Gone []uint64
	Left       int
}

// Chain names the models for serving that were saved of a store: a base and the deltas since, each of which follows the
// one before it. The zero value is none.
type Chain struct {
	Base   string `json:"base"`
	Last   string `json:"last"` // the base where there are no deltas
	Deltas int    `json:"deltas,omitempty"`
	// Serial numbers the last of all models for serving of a job and of the jobs that it goes on from. 0 is not known:
	// an earlier version saved it.
	Serial int `json:"serial,omitempty"`
	// Model is the checksum of what the base is beside its weights.
	Model string `json:"model,omitempty"`
	// Generation is the job's that saved the last model. It is empty where another may have been saved behind
	// that: the weights came from a checkpoint, or the saving process may have ended in the middle of it.
	Generation string `json:"generation,omitempty"`
}

// Next is the chain with one more model.
func (c Chain) Next(delta bool, name string) Chain {
	if !delta {
		c.Base, c.Deltas = name, -1
	}
	c.Last, c.Deltas, c.Serial = name, c.Deltas+1, c.Serial+1
	return c
}

// Doubted is the chain where another model may have been saved behind the last.
func (c Chain) Doubted() Chain {
	c.Generation = ""
	return c
}

// Chain is what was saved of the store, as it is now.
func (s *Store) Chain() Chain {
	if c := s.chain.Load(); c != nil {
		return *c
	}
	return Chain{}
}

// SetChain says what was saved of the store.
func (s *Store) SetChain(c Chain) { s.chain.Store(&c) }

// Select is what a model for serving takes of every table. No push may be under way until [Store.Serve].
func (s *Store) Select(o Serving) []Served {
	all := make([]Served, len(s.Tables))
	for i, t := range s.Tables {
		if slices.Contains(o.Params, t.param.Name) {
			all[i] = o.of(t)
		}
	}
	return all
}

// Serve says that what Select has listed is in a model that is whole, with which the chain is another.
func (s *Store) Serve(all []Served, now Chain) {
	for i, t := range s.Tables {
		all[i].serve(t)
	}
	s.SetChain(now)
}

// of is what a model for serving takes of a table.
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

// selects looks at the chunk that begins with row from, and says whether there are more.
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

// matters says whether a model for serving is to have a row.
func (o Serving) matters(k *kind, h *header, now uint32) bool {
	if !k.marked {
		return true
	}
	if seen := h.seen & ^uint32(flags); o.Keep >= 0 && now > seen && uint64(now-seen) > uint64(o.Keep) {
		return false
	}
	return o.BaseThreshold < 0 || k.rate(*k.marks(h)) >= o.BaseThreshold
}

// left is 1 for a row that thresholds leave out, and 0 where a delta has nothing new of it.
func (o Serving) left(k *kind, h *header) int {
	if o.Delta && !k.sweeps && h.seen&newer == 0 {
		return 0
	}
	return 1
}

// changed says whether a row has changed enough.
func (o Serving) changed(k *kind, h *header) bool {
	if k.marked && o.DeltaThreshold >= 0 {
		return float64(*k.delta(h)) >= o.DeltaThreshold
	}
	return k.sweeps || h.seen&newer != 0
}

// serve has rows count as served, and others as not. Of a row that no model has, all shows and clicks are new to
// serving.
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

// each calls do with the rows that there are.
func (t *Sparse) each(ids []uint64, do func(*header)) {
	c := t.calls.Get().(*call)
	defer t.calls.Put(c)
	for ids := range slices.Chunk(ids, batch) {
		c.largest = c.group(ids, len(t.shards), t.seed)
		c.prepare(nil, Clicks{}, 0, 0)
		for i := range t.shards {
			t.runShard(i, c, func(t *Sparse, s *shard, _ *call, b *block) {
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

// ofServing is what serving has of a row, for [Columns].
func (h *header) ofServing() (is uint32) {
	if h.seen&served != 0 {
		is |= IsServed
	}
	if h.seen&newer == 0 {
		is |= IsAsServed
	}
	return is
}

// flags are the bits in a row's seen.
func (r Row) flags() (f uint32) {
	if !r.AsServed {
		f |= newer
	}
	if r.Served {
		f |= served
	}
	return f
}
