package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/roster"
)

// TestGathersAreForgotten: when all have come to a collective, what the one before it brought is held no more, but still known to be over.
func TestGathersAreForgotten(t *testing.T) {
	c := &gathering{st: &state{roster: roster.New(roster.Options{Workers: 2})}, byNumber: map[uint64]*gathered{}}
	var made []*gathered
	for n := range uint64(3) {
		g := c.of(n+1, "AllGatherBytes", 0)
		for w := range 2 {
			g.have[w], g.data[w] = true, []byte("rows")
		}
		if made = append(made, g); !c.complete(g) {
			t.Fatal("a collective of all is not complete")
		}
	}
	for i, g := range made {
		if held := g.data[0] != nil; held != (i == 2) || !g.done {
			t.Errorf("collective %d of 3: data held %v, over %v", i+1, held, g.done)
		}
	}
}
