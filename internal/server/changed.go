package server

import (
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

const (
	replyOverhead = 512 // header and sections' heads
	maxIDBytes    = 10
)

// changes are the rows that the others have changed since a worker's life asked for them.
type changes struct {
	*mode.Recorder
	tables []*table.Watch // by embedding
}

// newChanges are those of a life that begins: it has seen no row yet, so all that exist are new to it.
func (s *Server) newChanges() (*changes, error) {
	c := new(changes)
	var sets []mode.Changes
	for _, t := range s.store.Tables {
		w, err := t.Watch(true)
		if err != nil {
			c.close()
			return nil, err
		}
		c.tables, sets = append(c.tables, w), append(sets, w)
	}
	c.Recorder = mode.NewRecorder(sets...)
	return c, nil
}

// watches are what notes the rows that the worker itself pushes for all others, by embedding; nil of no changes.
func (c *changes) watches() []*table.Watch {
	if c == nil {
		return nil
	}
	return c.tables
}

// close ends the noting, when the life has ended. It may be called twice, and of no changes.
func (c *changes) close() {
	if c == nil {
		return
	}
	for _, w := range c.tables {
		w.Close()
	}
}

// pullChanged adds to the reply the rows of the tables that a frame asks for by what has changed, as many as fit into a frame.
func (s *Server) pullChanged(f *wire.Frame, r *reply) error {
	room, n := s.c.Strategy.MaxFrame-replyOverhead, 0
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindChanged {
			continue
		}
		e, err := s.embedding(sec.Param)
		if err != nil {
			return err
		}
		recorder, err := s.recorder(f)
		if err != nil {
			return err
		}
		dim := s.store.Tables[e].Param().Dim()
		most := max(0, room/(4*dim+maxIDBytes))
		if n == 0 {
			most = max(1, most) // every answer brings something
		}
		ids, more := recorder.Ask(f.Seq, e, most)
		room -= len(ids) * (4*dim + maxIDBytes)
		if more {
			r.Changed(sec.Param)
		}
		if len(ids) == 0 {
			continue
		}
		for len(r.changed) <= n {
			r.changed = append(r.changed, nil)
		}
		r.changed[n] = grow(r.changed[n], len(ids)*dim)
		if err := s.store.Tables[e].Peek(ids, r.changed[n], s.store.Step()); err != nil {
			return err
		}
		r.Rows(sec.Param, ids, r.changed[n])
		n++
	}
	return nil
}

func (s *Server) recorder(f *wire.Frame) (*changes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(&f.Header)
	if err != nil {
		return nil, err
	}
	if m.changed == nil {
		return nil, wire.Refuse(wire.StatusRefused, "mode %s does not ask for what has changed", s.c.Strategy.Mode)
	}
	return m.changed, nil
}
