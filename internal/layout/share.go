package layout

// Share is one server's part of a list of ids: either the run [Lo, Hi) of it, or the positions At.
type Share struct {
	Lo, Hi int
	At     []int32
}

// Len is the number of ids in the share.
func (s *Share) Len() int {
	if len(s.At) > 0 {
		return len(s.At)
	}
	return s.Hi - s.Lo
}

// Run reports whether the share is the run [Lo, Hi), so that its rows lie side by side.
func (s *Share) Run() bool { return len(s.At) == 0 }

func (s *Share) add(lo, hi int) {
	switch {
	case lo == hi:
	case s.Len() == 0:
		s.Lo, s.Hi = lo, hi
	case s.Run() && s.Hi == lo:
		s.Hi = hi
	default:
		if s.Run() {
			s.list(s.Lo, s.Hi)
		}
		s.list(lo, hi)
	}
}

func (s *Share) list(lo, hi int) {
	for i := lo; i < hi; i++ {
		s.At = append(s.At, int32(i))
	}
}
