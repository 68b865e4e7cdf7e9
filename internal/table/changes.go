package table

// Changes are the differences of a table since changes were last taken, if no row was dropped meanwhile.
type Changes struct {
	Rows    []uint64 // ascending
	Waiters []uint64 // ascending
	// Forgotten ids no longer wait, unless they are among Waiters, and have no row unless they are among Rows.
	Forgotten []uint64
}

// Track makes the table record what changes, for images of the changes. The table must not be in use yet.
func (t *Sparse) Track() {
	t.tracked = true
	for i := range t.shards {
		t.shards[i].waiting.tracked = &t.remade
	}
}

// Remade reports that, since changes were last taken, rows were dropped, more waiting ids were forgotten than are
// recorded, or the table was filled again: then the changes are not all differences.
func (t *Sparse) Remade() bool { return t.remade.Load() }

// GiveBack marks what a closed image has taken as changed again, since it was saved nowhere, as far as its Changes were
// asked for.
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

// changed marks a waiting id as changed.
func (w *waiting) changed(id uint64) {
	for _, generation := range []*waiterMap{&w.young, &w.old} {
		if is, waits := generation.get(id); waits {
			is.seen |= changed
			generation.replace(id, is)
		}
	}
}
