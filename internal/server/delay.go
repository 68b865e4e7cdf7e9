package server

import (
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
)

// Delay compensation takes gradients to the weights that the server has come to, as [gradient.Compensate] says. It is for dense weights;
// rows are pulled for the step that pushes them.

// notePulled remembers the dense values [from, to) that a worker gets.
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

// compensate is the dense gradient of an update as it would be at the server's weights. Updates of one worker follow each
// other, so its pulled weights are at rest.
func (s *Server) compensate(round []*push, g []float32) ([]float32, error) {
	lambda := float32(s.c.Strategy.DelayCompensation)
	if lambda == 0 {
		return g, nil
	}
	s.mu.Lock()
	pulled := slices.Clone(s.members[round[0].worker].pulled)
	s.mu.Unlock()
	if pulled == nil {
		return g, nil
	}
	w := make([]float32, len(g))
	for i, b := range s.c.Layout.Parts[s.c.Index].Blocks {
		if err := s.store.Blocks[i].Values.Pull(w[b.At:][:b.Size]); err != nil {
			return nil, err
		}
	}
	gradient.Compensate(w, g, pulled, lambda)
	return w, nil
}
