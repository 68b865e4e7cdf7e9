package server

import (
	"slices"
	"sync"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/wire"
)

// stage holds the pieces of a push that is too large for one frame, until the last of them makes it a push like any other:
// whole or refused.
type stage struct {
	mu    sync.Mutex
	got   []bool // by number; the last piece is never among them
	dense []float32
	rows  [][]gradient.Rows // by number and embedding
	bytes int
}

const (
	// maxStages is above what a worker sends: two for each of its threads.
	maxStages = 64
	// maxStageBytes bounds the rows of one push; its dense values are as many as the server holds.
	maxStageBytes = 16 << 30
)

// piece keeps a piece of a push. One that arrives again changes nothing.
func (s *Server) piece(f *wire.Frame) error {
	part, err := f.Piece()
	if err != nil {
		return err
	}
	if part.Number == part.Of-1 {
		return wire.Refuse(wire.StatusRefused, "the last piece of a push is the step")
	}
	st, err := s.stage(f, part.Of)
	if err != nil || st == nil {
		return err
	}
	return st.take(s, f, part.Number)
}

// stage is where the pieces of a frame's step are collected; nil if that step needs none any more.
func (s *Server) stage(f *wire.Frame, pieces int) (*stage, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(&f.Header)
	if err != nil || m.window.knows(f.Seq) {
		return nil, err
	}
	st := m.stages[f.Seq]
	switch {
	case st != nil && len(st.got) != pieces-1:
		return nil, wire.Refuse(wire.StatusRefused, "step %d of worker %d has %d pieces, and now %d", f.Seq, f.Worker, len(st.got)+1, pieces)
	case st != nil:
		return st, nil
	case len(m.stages) >= maxStages:
		return nil, wire.Refuse(wire.StatusRefused, "worker %d has begun %d pushes and ended none", f.Worker, maxStages)
	}
	if m.stages == nil {
		m.stages = make(map[uint64]*stage)
	}
	st = &stage{got: make([]bool, pieces-1), rows: make([][]gradient.Rows, pieces-1)}
	m.stages[f.Seq] = st
	return st, nil
}

// take copies a piece out of its frame.
func (st *stage) take(s *Server, f *wire.Frame, number int) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.got[number] {
		return nil
	}
	var p push
	dense, err := p.readFrame(s, f)
	if err != nil {
		return err
	}
	for e := range p.grad.Rows {
		r := &p.grad.Rows[e]
		r.G, r.Clicks = slices.Clone(r.G), slices.Clone(r.Clicks)
		st.bytes += 8*len(r.IDs) + 4*len(r.G) + 4*len(r.Clicks)
	}
	if st.bytes > maxStageBytes {
		return wire.Refuse(wire.StatusRefused, "the rows of one push of worker %d are more than %d bytes", f.Worker, maxStageBytes)
	}
	if dense != nil {
		from, _, _ := f.Span(s.c.Layout.Parts[s.c.Index].Floats)
		copy(st.room(s)[from:], dense)
	}
	st.rows[number], st.got[number] = p.grad.Rows, true
	return nil
}

// room is memory for all of the server's dense values.
func (st *stage) room(s *Server) []float32 {
	if st.dense == nil {
		st.dense = make([]float32, s.c.Layout.Parts[s.c.Index].Floats)
	}
	return st.dense
}

// assemble makes a push of its last piece and those that came before. If some did not, the push is incomplete, which matters
// only if it was not seen before.
func (p *push) assemble(s *Server, f *wire.Frame, part wire.Piece) error {
	last, err := p.readFrame(s, f)
	if err != nil {
		return err
	}
	p.grad.Dense = nil
	st, err := s.stage(f, part.Of)
	if err != nil || st == nil {
		return err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if i := slices.Index(st.got, false); i >= 0 {
		p.incomplete = wire.Refuse(wire.StatusRefused, "step %d of worker %d: piece %d of %d has not come", f.Seq, f.Worker, i+1, part.Of)
		return nil
	}
	p.grad.Dense = st.room(s)
	if last != nil {
		from, _, _ := f.Span(len(p.grad.Dense))
		copy(p.grad.Dense[from:], last)
	}
	for e := range p.grad.Rows {
		if p.grad.Rows[e], err = st.join(e, p.grad.Rows[e]); err != nil {
			return wire.Refuse(wire.StatusRefused, "push of worker %d to server %d: embedding %q: %v", f.Worker, s.c.Index, s.c.Layout.Embeddings[e].Name, err)
		}
	}
	return nil
}

// join puts the rows of an embedding together, in the order of the pieces.
func (st *stage) join(e int, last gradient.Rows) (all gradient.Rows, err error) {
	for _, rows := range append(slices.Clone(st.rows), nil) {
		part := last
		if rows != nil {
			part = rows[e]
		}
		if n := len(all.IDs); n > 0 && len(part.IDs) > 0 && part.IDs[0] <= all.IDs[n-1] {
			return all, wire.Refuse(wire.StatusRefused, "id %d after %d", part.IDs[0], all.IDs[n-1])
		}
		all.IDs, all.G, all.Clicks = append(all.IDs, part.IDs...), append(all.G, part.G...), append(all.Clicks, part.Clicks...)
	}
	if all.Clicks != nil && len(all.Clicks) != 2*len(all.IDs) {
		return all, wire.Refuse(wire.StatusRefused, "shows and clicks of %d rows of %d", len(all.Clicks)/2, len(all.IDs))
	}
	return all, nil
}
