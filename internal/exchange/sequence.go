package exchange

import (
	"slices"
	"sync"
)

// Sequence numbers a worker's requests, so that a server counts each once, and tracks the lowest number that is not
// answered.
type Sequence struct {
	mu   sync.Mutex
	next uint64
	open []uint64 // begun and not ended, ascending
}

// Begin returns a new number, and acked: all lower numbers than acked are answered.
func (s *Sequence) Begin() (step, acked uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.open = append(s.open, s.next)
	return s.next, s.open[0]
}

// Open returns how many numbers have begun and not ended.
func (s *Sequence) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

func (s *Sequence) End(step uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, ok := slices.BinarySearch(s.open, step); ok {
		s.open = slices.Delete(s.open, i, i+1)
	}
}
