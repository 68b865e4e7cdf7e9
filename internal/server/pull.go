package server

import (
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// pull adds to the reply the rows that the frame asks for, and the dense weights unless the worker has them.
func (s *Server) pull(f *wire.Frame, r *reply, peek bool) error {
	version := s.version.Load()
	r.Header().Version = version
	if f.Version != wire.NoDense && f.Version != version {
		if err := s.pullDense(r); err != nil {
			return err
		}
	}
	n := 0
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindIDs {
			continue
		}
		if err := s.pullRows(sec, r, n, peek); err != nil {
			return err
		}
		n++
	}
	return nil
}

func (s *Server) pullDense(r *reply) error {
	part := s.c.Layout.Parts[s.c.Index]
	if part.Floats == 0 {
		return nil
	}
	r.dense = grow(r.dense, part.Floats)
	for i, b := range part.Blocks {
		if err := s.store.Blocks[i].Values.Pull(r.dense[b.At:][:b.Size]); err != nil {
			return err
		}
	}
	r.Dense(r.dense)
	return nil
}

func (s *Server) pullRows(sec wire.Section, r *reply, n int, peek bool) (err error) {
	e, err := s.embedding(sec.Table)
	if err != nil {
		return err
	}
	param := s.c.Layout.Embeddings[e]
	if r.ids, err = sec.IDs(r.ids[:0]); err != nil {
		return err
	}
	if err := s.checkIDs(param, r.ids); err != nil {
		return wire.Refuse(wire.StatusRefused, "pull: %v", err)
	}
	floats := len(r.ids) * s.c.Layout.Params[param].Dim()
	if limit := s.limit(); 4*floats > limit {
		return wire.Refuse(wire.StatusRefused, "pull of %d rows makes %d bytes, a message has at most %d", len(r.ids), 4*floats, limit)
	}
	for len(r.rows) <= n {
		r.rows = append(r.rows, nil)
	}
	r.rows[n] = grow(r.rows[n], floats)
	if err := s.readRows(e, r.ids, r.rows[n], peek); err != nil {
		return err
	}
	r.Bare(sec.Table, r.rows[n])
	return nil
}

func (s *Server) readRows(e int, ids []uint64, w []float32, peek bool) error {
	step := s.store.Step()
	if peek {
		return s.store.Tables[e].Peek(ids, w, step)
	}
	return s.store.Tables[e].Pull(ids, w, step)
}

// limit is the size of the largest reply.
func (s *Server) limit() int {
	if l, ok := s.c.Transport.(transport.Limited); ok {
		return l.MessageLimit()
	}
	return transport.DefaultMaxMessage
}

// grow returns a slice of n floats, b itself if it has room.
func grow(b []float32, n int) []float32 {
	if cap(b) < n {
		return make([]float32, n)
	}
	return b[:n]
}
