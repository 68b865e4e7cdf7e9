package server

import (
	"fmt"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// gathers are the collectives under way, and the last ones that are complete, for repeated requests.
type gathers struct {
	byNumber map[uint64]*gathering
	order    []uint64
}

type gathering struct {
	n     uint64
	call  string // all that must be the same on every worker
	first int    // the worker that came first
	err   error  // says which workers made different calls
	data  [][]byte
	have  []bool
	done  bool
}

// keepGathers is how many collectives are remembered; a worker has one under way at a time.
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
	g := s.gathers.get(msg.N, func() *gathering { return newGathering(msg.N, msg.Call, int(f.Worker), len(s.members)) })
	if g.call != msg.Call {
		return s.differ(g, int(f.Worker), msg.Call)
	}
	if !g.have[f.Worker] {
		g.have[f.Worker], g.data[f.Worker] = true, msg.Data
		s.broadcast()
	}
	err := s.await(func() bool { return g.err != nil || s.complete(g) }, func() string { return fmt.Sprintf("at %s: missing %s", msg.Call, s.absentees(g)) })
	switch {
	case err != nil:
		return err
	case g.err != nil:
		return g.err
	}
	return r.JSON(wire.Gathered{Data: g.data})
}

// differ refuses a collective in which a worker makes another call than the first, for all who are in it. Whoever has its answer
// keeps that.
func (s *Server) differ(g *gathering, worker int, call string) error {
	err := wire.Refuse(wire.StatusRefused, "workers make different calls: worker %d is at %s, worker %d at %s: all must make the same calls in the same order",
		g.first, g.call, worker, call)
	if !g.done && g.err == nil {
		g.err = err
		s.broadcast()
	}
	return err
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
		s.gathers.release(g.n - 1)
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

func newGathering(n uint64, call string, first, workers int) *gathering {
	return &gathering{n: n, call: call, first: first, data: make([][]byte, workers), have: make([]bool, workers)}
}

// release forgets what collective n brought: who has come to the next has its answer. So a server holds the data of two.
func (g *gathers) release(n uint64) {
	if past := g.byNumber[n]; past != nil {
		clear(past.data)
	}
}

// get is collective n, which begins with the first request for it.
func (g *gathers) get(n uint64, begin func() *gathering) *gathering {
	if g.byNumber == nil {
		g.byNumber = make(map[uint64]*gathering)
	}
	if found := g.byNumber[n]; found != nil {
		return found
	}
	if len(g.order) == keepGathers {
		delete(g.byNumber, g.order[0])
		g.order = g.order[1:]
	}
	made := begin()
	g.byNumber[n], g.order = made, append(g.order, n)
	return made
}
