package server

import (
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// asked are the rows of an embedding that a frame asks for.
type asked struct {
	e    int // among the layout's embeddings
	ids  []uint64
	rows []float32
}

// readPull takes what a frame asks for into the reply and checks it, before any of the frame is done: so much memory as the
// answer may have, rows that there are, and that live here.
func (s *Server) readPull(f *wire.Frame, r *reply) error {
	bytes, n := 0, 0
	if f.Version != wire.NoDense {
		from, to, err := f.Span(s.c.Layout.Parts[s.c.Index].Floats)
		if err != nil {
			return err
		}
		bytes = 4 * (to - from)
	}
	for _, sec := range f.Sections {
		if sec.Kind != wire.KindIDs {
			continue
		}
		if len(r.asked) == n {
			r.asked = append(r.asked, asked{})
		}
		if err := r.asked[n].read(s, sec); err != nil {
			return err
		}
		bytes += 4 * len(r.asked[n].ids) * s.dim(r.asked[n].e)
		n++
	}
	if limit := s.limit(); bytes > limit {
		return wire.Refuse(wire.StatusRefused, "pull of worker %d makes %d bytes, a message of server %d has at most %d", f.Worker, bytes, s.c.Index, limit)
	}
	r.wanted = n
	return nil
}

func (a *asked) read(s *Server, sec wire.Section) (err error) {
	if a.e, err = s.embedding(sec.Param); err != nil {
		return err
	}
	if a.ids, err = sec.IDs(a.ids[:0]); err != nil {
		return err
	}
	if err := s.checkIDs(&s.c.Layout.Embeddings[a.e], a.ids); err != nil {
		return wire.Refuse(wire.StatusRefused, "pull: %v", err)
	}
	return nil
}

// dim is the width of an embedding's rows.
func (s *Server) dim(e int) int { return s.c.Layout.Embeddings[e].Dim() }

// pull adds to the reply the rows that readPull found, and the dense weights unless the worker has them.
func (s *Server) pull(f *wire.Frame, r *reply, peek bool) error {
	version := s.updates.Version()
	r.Header().Version = version
	if a := &r.foreseen; a.Version > 0 {
		r.Header().Version = a.Version
		r.Dense(a.Dense)
	} else if f.Version != wire.NoDense && (f.Version != version || peek && s.foreseeing) { // what the sender has may be foreseen
		if err := s.pullDense(f, r); err != nil {
			return err
		}
	}
	for i := range r.asked[:r.wanted] {
		a := &r.asked[i]
		a.rows = grow(a.rows, len(a.ids)*s.dim(a.e))
		if err := s.readRows(a.e, a.ids, a.rows, peek); err != nil {
			return err
		}
		r.Bare(uint32(s.c.Layout.Embeddings[a.e].Index), a.rows)
	}
	return s.pullChanged(f, r)
}

// pullDense adds the dense weights, or the span of them that is asked for.
func (s *Server) pullDense(f *wire.Frame, r *reply) error {
	from, to, err := f.Span(s.c.Layout.Parts[s.c.Index].Floats)
	if err != nil || from == to {
		return err
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
