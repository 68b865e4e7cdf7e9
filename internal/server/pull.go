package server

import (
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// pull adds to the reply the rows that the frame asks for, and the dense weights unless the worker has them.
func (s *Server) pull(f *wire.Frame, r *reply, peek bool) error {
	version := s.version.Load()
	r.Header().Version = version
	if f.Version != wire.NoDense && f.Version != version {
		if err := s.pullDense(f, r); err != nil {
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

// pullDense adds the dense weights, or the span of them that is asked for.
func (s *Server) pullDense(f *wire.Frame, r *reply) error {
	from, to, err := f.Span(s.c.Layout.Parts[s.c.Index].Floats)
	if err != nil || from == to {
		return err
	}
	if limit := s.limit(); 4*(to-from) > limit {
		return wire.Refuse(wire.StatusRefused, "pull of %d dense values makes %d bytes, a message has at most %d", to-from, 4*(to-from), limit)
	}
	r.dense = grow(r.dense, to-from)
	err = s.eachBlock(from, to, func(d *table.Dense, at, lo, hi int) error { return d.PullAt(at, r.dense[lo:hi]) })
	if err != nil {
		return err
	}
	s.notePulled(f.Worker, from, r.dense)
	r.Dense(r.dense)
	return nil
}

// eachBlock calls do with the blocks that hold the dense values [from, to) of this server: where in the block they begin,
// and which [lo, hi) of the span they are.
func (s *Server) eachBlock(from, to int, do func(d *table.Dense, at, lo, hi int) error) error {
	for i, b := range s.c.Layout.Parts[s.c.Index].Blocks {
		lo, hi := max(from, b.At), min(to, b.At+b.Size)
		if lo >= hi {
			continue
		}
		if err := do(s.store.Blocks[i].Values, lo-b.At, lo-from, hi-from); err != nil {
			return err
		}
	}
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
func (s *Server) limit() int { return transport.LimitOf(s.c.Transport) }

// grow returns a slice of n floats, b itself if it has room.
func grow(b []float32, n int) []float32 {
	if cap(b) < n {
		return make([]float32, n)
	}
	return b[:n]
}
