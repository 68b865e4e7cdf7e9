package table

// Changes are what is other in a table than when they were last taken, if no row was dropped meanwhile.
type Changes struct {
	Rows    []uint64 // ascending
	Waiters []uint64 // ascending
	// Forgotten ids do not wait any more, unless they are among Waiters, and have no row unless they are among Rows.
	Forgotten []uint64
}

// Track has the table note what changes, for images of that. The table is not in use yet.
func (t *Sparse) Track() {
	t.tracked = true
	for i := range t.shards {
		t.shards[i].waiting.tracked = &t.remade
	}
}

// Remade says that rows were dropped, that more waiting ids were forgotten than are noted, or that the table was filled
// anew, since changes were last taken: what has changed does not tell that.
func (t *Sparse) Remade() bool { return t.remade.Load() }

// GiveBack has what a closed image has taken, as far as its Changes were asked for, count as changed again, since it
// was saved nowhere.
func (m *TableImage) GiveBack() {
	t, c := m.Table, &m.changes
	for _, id := range c.Rows {
		s, hash := t.shardOf(id)
		s.Lock()
		if _, h := s.index.find(&s.arena, hash, id); h != nil {
			h.seen |= changed
		}
		s.Unlock()
	}
	for _, id := range c.Waiters {
		s, _ := t.shardOf(id)
		s.Lock()
		s.waiting.changed(id)
		s.Unlock()
	}
	for _, id := range c.Forgotten {
		s, _ := t.shardOf(id)
		s.Lock()
		s.waiting.forgets(func(yield func(uint64) bool) { yield(id) }, s.mayWait())
		s.Unlock()
	}
}

// changed has an id that waits count as changed.
func (w *waiting) changed(id uint64) {
	for _, generation := range []map[uint64]waiter{w.young, w.old} {
		if is, waits := generation[id]; waits {
			is.seen |= changed
			generation[id] = is
		}
	}
}
