package table

// Changes are the differences of a table since changes were last taken, unless it was [Sparse.Remade].
type Changes struct {
	Rows    []uint64 // ascending
	Dropped []uint64 // rows that are gone, unless they are among Rows
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

// Remade reports that, since changes were last taken, shows and clicks have decayed, more rows were dropped or waiting
// ids forgotten than are recorded, or the table was filled again: then the changes are not all differences.
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
	for _, id := range c.Dropped {
		s, _ := t.shardOf(id)
		s.Lock()
		s.lost(t, id)
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

// lost records a row that was dropped, in a tracked table, as long as these ids take less than a sixteenth of the
// memory of the rows; beyond that bound the next checkpoint has everything.
func (s *shard) lost(t *Sparse, id uint64) {
	if !t.tracked || t.remade.Load() {
		return
	}
	if s.dropped = append(s.dropped, id); 8*len(s.dropped) > max(s.arena.live(), leastRows)*t.stride/4 {
		s.dropped = nil
		t.remade.Store(true)
	}
}
