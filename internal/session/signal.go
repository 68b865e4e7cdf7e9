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

func (s *signal) send() {
	if s.sent != nil {
		close(s.sent)
		s.sent = nil
	}
}
