package client

import (
	"context"
	"slices"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
)

// pulling is a pull of an asynchronous session, and the memory for it, which is used again.
type pulling struct {
	op   wire.Op
	rows []rows
	read []uint64 // versions of the weights, by server, when done
	day  int64
	done chan struct{} // has room for the word that it is
}

// rowsFor is the pull that a step needs: that which was asked for ahead, or one of its own.
func (s *asyncSession) rowsFor(st *optimizer.Step) (*pulling, error) {
	if p := s.takeNext(st); p != nil {
		return p, nil
	}
	return s.ask(st, func(r *optimizer.Rows) []uint64 { return r.IDs })
}

// takeNext returns the pull that was asked for ahead, if it is for this step.
func (s *asyncSession) takeNext(st *optimizer.Step) *pulling {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.next
	if p == nil || st.Eval {
		return nil
	}
	s.next = nil
	if p.day != s.c.days.Load() {
		return nil
	}
	for e := range st.Rows {
		if !slices.Equal(p.rows[e].ids, st.Rows[e].IDs) {
			return nil
		}
	}
	return p
}

// lookAhead asks for the rows of the next step, if that is known.
func (s *asyncSession) lookAhead(st *optimizer.Step) error {
	if st.Eval || !knowsNext(st) {
		return nil
	}
	next, err := s.ask(st, func(r *optimizer.Rows) []uint64 { return r.Next })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = next
	return nil
}

func knowsNext(st *optimizer.Step) bool {
	for e := range st.Rows {
		if st.Rows[e].Next == nil {
			return false
		}
	}
	return len(st.Rows) > 0
}

// ask gives the queue rows to pull.
func (s *asyncSession) ask(st *optimizer.Step, ids func(*optimizer.Rows) []uint64) (*pulling, error) {
	p := s.room()
	p.op, p.day = opOf(st), s.c.days.Load()
	for e := range st.Rows {
		p.rows[e].want(ids(&st.Rows[e]), st.Rows[e].Param.Dim())
	}
	kind := mode.PullRows
	if st.Eval {
		kind = mode.PullPeek
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.queue.Want(kind) {
		return nil, s.over()
	}
	s.wanted[kind] = p
	s.act()
	return p, nil
}

func opOf(st *optimizer.Step) wire.Op {
	if st.Eval {
		return wire.OpPeek
	}
	return wire.OpStep
}

// room is memory for a pull: that of one before, if it is free.
func (s *asyncSession) room() *pulling {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	return &pulling{rows: make([]rows, len(s.c.c.Layout.Embeddings)), read: make([]uint64, len(s.c.c.Servers)), done: make(chan struct{}, 1)}
}

// putBack frees the memory of a pull that is done.
func (s *asyncSession) putBack(p *pulling) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spare = append(s.spare, p)
}

// await waits until a pull is done, the session has failed, or ctx ends.
func (s *asyncSession) await(ctx context.Context, p *pulling) error {
	select {
	case <-s.failed: // whatever else has arrived
		return s.fails()
	default:
	}
	select {
	case <-p.done:
		return nil
	case <-s.failed:
		return s.fails()
	case <-ctx.Done():
		return describe(context.Cause(ctx), "waiting for servers", s.c)
	}
}

func (s *asyncSession) fails() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failure()
}
