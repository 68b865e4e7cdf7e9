package session

// signal wakes all who wait for it. A lock of its owner's guards it.
type signal struct{ sent chan struct{} }

// wait is closed when the signal is sent next.
func (s *signal) wait() <-chan struct{} {
	if s.sent == nil {
		s.sent = make(chan struct{})
	}
	return s.sent
}

// send wakes all that wait now; a wait that begins behind it needs the next.
func (s *signal) send() {
	if s.sent != nil {
		close(s.sent)
		s.sent = nil
	}
}
