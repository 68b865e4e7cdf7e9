package server

import "testing"

// TestGathersAreForgotten: when all have come to a collective, what the one before it brought is held no more, but still known to be over.
func TestGathersAreForgotten(t *testing.T) {
	s := &Server{members: make([]member, 2)}
	var made []*gathering
	for n := range uint64(3) {
		g := s.gathers.get(n+1, func() *gathering { return newGathering(n+1, "AllGatherBytes", 0, 2) })
		for w := range s.members {
			g.have[w], g.data[w] = true, []byte("rows")
		}
		if made = append(made, g); !s.complete(g) {
			t.Fatal("a collective of all is not complete")
		}
	}
	for i, g := range made {
		if held := g.data[0] != nil; held != (i == 2) || !g.done {
			t.Errorf("collective %d of 3: data held %v, over %v", i+1, held, g.done)
		}
	}
}
