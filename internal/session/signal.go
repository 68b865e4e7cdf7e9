package session

// signal wakes all its waiters. It is guarded by a lock of its owner.
type signal struct{ sent chan struct{} }

// wait returns a channel that the next send closes.
func (s *signal) wait() <-chan struct{} {
	if s.sent == nil {
		s.sent = make(chan struct{})
	}
	return s.sent
}

// send wakes all current waiters; a later wait needs another send.
func (s *signal) send() {
	if s.sent != nil {
		close(s.sent)
		s.sent = nil
	}
}
