package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// gathers are the collectives under way, and the last ones that are complete, for repeated requests.
type gathers struct {
	byKey map[gatherKey]*gathering
	order []gatherKey
}

type gatherKey struct {
	name string
	n    uint64
}

type gathering struct {
	data [][]byte
	have []bool
	done bool
}

// keepGathers is how many collectives are remembered; a worker has one of a name under way at a time.
const keepGathers = 256

// gather collects a blob from every worker and answers each with all of them: a barrier is a gather of nothing.
func (s *Server) gather(f *wire.Frame, r *reply) error {
	var msg wire.Gather
	if err := f.JSON(&msg); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return err
	}
	g := s.gathers.get(gatherKey{msg.Name, msg.N}, len(s.members))
	if !g.have[f.Worker] {
		g.have[f.Worker], g.data[f.Worker] = true, msg.Data
		s.broadcast()
	}
	err := s.await(func() bool { return s.complete(g) }, func() string { return fmt.Sprintf("at %q: missing %s", msg.Name, s.absentees(g)) })
	if err != nil {
		return err
	}
	return r.JSON(wire.Gathered{Data: g.data})
}

// complete says whether everybody who is still in the job has sent his part. Once it is, it stays so.
func (s *Server) complete(g *gathering) bool {
	if !g.done {
		for w := range s.members {
			if !g.have[w] && s.members[w].state != left && s.members[w].state != dead {
				return false
			}
		}
		g.done = true
	}
	return true
}

func (s *Server) absentees(g *gathering) string {
	var names []string
	for w := range s.members {
		if !g.have[w] {
			names = append(names, s.members[w].describe(w, time.Now()))
		}
	}
	return strings.Join(names, ", ")
}

func (g *gathers) get(key gatherKey, workers int) *gathering {
	if g.byKey == nil {
		g.byKey = make(map[gatherKey]*gathering)
	}
	if found := g.byKey[key]; found != nil {
		return found
	}
	if len(g.order) == keepGathers {
		delete(g.byKey, g.order[0])
		g.order = g.order[1:]
	}
	made := &gathering{data: make([][]byte, workers), have: make([]bool, workers)}
	g.byKey[key], g.order = made, append(g.order, key)
	return made
}
