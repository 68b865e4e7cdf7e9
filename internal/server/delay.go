package server

// notePulled remembers the dense values from index from on that a worker gets, for delay compensation.
func (s *Server) notePulled(worker uint32, from int, w []float32) {
	if s.c.Strategy.DelayCompensation == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[worker]
	if m.pulled == nil {
		m.pulled = make([]float32, s.c.Layout.Parts[s.c.Index].Floats)
	}
	copy(m.pulled[from:], w)
}
