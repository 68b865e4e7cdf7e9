package server

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/kernels"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/update"
	"github.com/gofleet/gofleet/internal/wire"
)

// push is one worker's gradient for this server. Its floats alias the request, which lives as long as its handler waits, unless
// they came narrowed.
type push struct {
	worker int
	life   uint32
	step   uint64
	seen   *stepState // its place in the worker's window
	grad   update.Push
	// floats that came narrowed are widened into these, so that a push allocates nothing of its size.
	denseRoom []float32
	rowsRoom  [][]float32 // by embedding
	// incomplete says which pieces of it are missing.
	incomplete error
}

// read takes the gradients out of a frame, the last piece of a push or all of it, and checks all of them, so that nothing
// of a wrong push is applied.
func (p *push) read(s *Server, f *wire.Frame) (err error) {
	p.worker, p.life, p.step, p.grad.Samples, p.incomplete = int(f.Worker), f.Life, f.Seq, int(f.Samples), nil
	part, err := f.Piece()
	if err != nil {
		return err
	}
	if part.Of > 1 {
		return p.assemble(s, f, part)
	}
	if p.grad.Dense, err = p.readFrame(s, f); err != nil {
		return err
	}
	if want := s.c.Layout.Parts[s.c.Index].Floats; len(p.grad.Dense) != want {
		return wire.Refuse(wire.StatusRefused, "worker %d pushed %d dense gradients to server %d, which holds %d values", f.Worker, len(p.grad.Dense), s.c.Index, want)
	}
	return nil
}

// readFrame takes the rows of one frame into p, and returns its dense values.
func (p *push) readFrame(s *Server, f *wire.Frame) ([]float32, error) {
	for len(p.grad.Rows) < len(s.c.Layout.Embeddings) {
		p.grad.Rows, p.rowsRoom = append(p.grad.Rows, gradient.Rows{}), append(p.rowsRoom, nil)
	}
	for i := range p.grad.Rows {
		p.grad.Rows[i].IDs, p.grad.Rows[i].G, p.grad.Rows[i].Clicks = p.grad.Rows[i].IDs[:0], nil, nil
	}
	for _, sec := range f.Sections {
		var err error
		switch sec.Kind {
		case wire.KindRows:
			err = p.readRows(s, sec)
		case wire.KindCounts:
			err = p.readCounts(s, sec)
		}
		if err != nil {
			return nil, wire.Refuse(wire.StatusRefused, "push of worker %d to server %d: %v", f.Worker, s.c.Index, err)
		}
	}
	dense, from, _, err := s.denseOf(f, s.floats(), &p.denseRoom)
	if err != nil {
		return nil, err
	}
	if i := kernels.FirstNotFinite(dense); i >= 0 {
		return nil, wire.Refuse(wire.StatusRefused, "push of worker %d to server %d: the gradient of %s is %v", f.Worker, s.c.Index, s.blockAt(from+i), dense[i])
	}
	return dense, nil
}

// blockAt names the dense block that holds one of this server's values.
func (s *Server) blockAt(i int) string {
	for _, b := range s.c.Layout.Parts[s.c.Index].Blocks {
		if i < b.At+b.Size {
			return fmt.Sprintf("%q at element %d", s.c.Layout.Params[b.Param].Name, b.Offset+i-b.At)
		}
	}
	return "nothing"
}

func (p *push) readRows(s *Server, sec wire.Section) error {
	e, err := s.embedding(sec.Param)
	if err != nil {
		return err
	}
	rows, emb := &p.grad.Rows[e], &s.c.Layout.Embeddings[e]
	name, dim := emb.Name, emb.Dim()
	if emb.Frozen {
		return wire.Refuse(wire.StatusRefused, "embedding %q is frozen", name)
	}
	if rows.G != nil {
		return wire.Refuse(wire.StatusRefused, "embedding %q comes twice", name)
	}
	if rows.IDs, err = sec.IDs(rows.IDs); err != nil {
		return err
	}
	if rows.G, err = sec.RowsIn(&p.rowsRoom[e]); err != nil {
		return err
	}
	if len(rows.G) != len(rows.IDs)*dim {
		return wire.Refuse(wire.StatusRefused, "embedding %q: %d values for %d rows of width %d", name, len(rows.G), len(rows.IDs), dim)
	}
	if i := kernels.FirstNotFinite(rows.G); i >= 0 {
		return wire.Refuse(wire.StatusRefused, "the gradient of row %d of %q is %v", rows.IDs[i/dim], name, rows.G[i])
	}
	return s.checkIDs(emb, rows.IDs)
}

// readCounts takes the shows and clicks of rows that were read before.
func (p *push) readCounts(s *Server, sec wire.Section) error {
	e, err := s.embedding(sec.Param)
	if err != nil {
		return err
	}
	rows, name := &p.grad.Rows[e], s.c.Layout.Params[sec.Param].Name
	counts, err := sec.Counts()
	if err != nil {
		return err
	}
	if len(counts) != 2*len(rows.IDs) || rows.Clicks != nil {
		return wire.Refuse(wire.StatusRefused, "embedding %q: shows and clicks of %d rows, it has %d (or they come twice)", name, len(counts)/2, len(rows.IDs))
	}
	for i, x := range counts {
		if !(x >= 0 && x <= math.MaxFloat32) {
			return wire.Refuse(wire.StatusRefused, "row %d of %q was shown or clicked %v times", rows.IDs[i/2], name, x)
		}
	}
	rows.Clicks = counts
	return nil
}

// embedding is the position among the layout's embeddings of the one a section names.
func (s *Server) embedding(param uint32) (int, error) {
	for e := range s.c.Layout.Embeddings {
		if s.c.Layout.Embeddings[e].Index == int(param) {
			return e, nil
		}
	}
	return 0, wire.Refuse(wire.StatusRefused, "param %d is no embedding", param)
}

// checkIDs refuses ids that the embedding does not have, or that live elsewhere.
func (s *Server) checkIDs(e *layout.Embedding, ids []uint64) error {
	if err := e.CheckIDs(ids); err != nil {
		return err
	}
	if i := e.Foreign(s.c.Index, ids); i >= 0 {
		return wire.Refuse(wire.StatusRefused, "row %d of embedding %q does not live on server %d", ids[i], e.Name, s.c.Index)
	}
	return nil
}

// push notes a gradient, once however often it arrives, and returns when it is part of the weights. The answer's header says
// what became of it.
func (s *Server) push(f *wire.Frame, p *push, answer *wire.Header) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(&f.Header)
	if err != nil {
		return err
	}
	st, seen, err := m.window.enter(f.Seq, f.Acked)
	if err != nil {
		return err
	}
	if !seen {
		p.seen = st
		s.admit(f, m, p)
	}
	if err := s.await(func() bool { return st.done }, func() string { return s.missing(mode.Round(f.Round) + 1) }); err != nil {
		s.fail(err) // others may hold this gradient: without it the round can't close
		s.awaitIdle()
		return err
	}
	answer.SetOutcome(wire.Outcome{Applied: uint32(st.rows - st.dropped), Dropped: uint64(st.dropped), On: st.version, Again: seen})
	if st.refusal != nil {
		return st.refusal
	}
	return s.awaitRound(mode.Round(f.Round) + 1)
}

// admit gives a new gradient to the mode and applies what that completes. mu is held.
func (s *Server) admit(f *wire.Frame, m *member, p *push) {
	delete(m.stages, p.step)
	if p.incomplete != nil {
		p.seen.refuse(p.incomplete)
		return
	}
	if err := s.awaitTurn(f, m); err != nil {
		p.seen.refuse(err)
		return
	}
	m.noted = p
	apply, err := s.mode.Push(p.worker, mode.Round(f.Round))
	if err != nil {
		m.noted = nil
		p.seen.refuse(wire.Refuse(wire.StatusStale, "%v", err))
		return
	}
	if len(apply) > 0 { // a gradient that is only noted lets nobody go on
		s.applyRound(apply)
	}
}

// awaitTurn waits until the round of a frame is open to its sender. mu is held.
func (s *Server) awaitTurn(f *wire.Frame, m *member) error {
	if err := s.awaitPublished(); err != nil {
		return err
	}
	if err := s.awaitRound(mode.Round(f.Round)); err != nil {
		return err
	}
	if err := s.awaitCut(f); err != nil {
		return err
	}
	if m.state != alive || m.fenced || m.life != f.Life {
		return wire.Refuse(wire.StatusStale, "worker %d has stopped, was declared dead or was replaced (life %d, current %d): start it again where the mode allows it", f.Worker, f.Life, m.life)
	}
	return nil
}

// park takes note that a worker has no more batches in this phase.
func (s *Server) park(f *wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(&f.Header)
	if err != nil {
		return err
	}
	st, seen, err := m.window.enter(f.Seq, f.Acked)
	if err != nil || seen {
		return err
	}
	if err := s.awaitTurn(f, m); err != nil {
		st.refuse(err)
		return err
	}
	apply, err := s.mode.Park(int(f.Worker), mode.Round(f.Round))
	if err != nil {
		err = wire.Refuse(wire.StatusStale, "%v", err)
		st.refuse(err)
		return err
	}
	st.apply(0, 0)
	s.applyRound(apply)
	return nil
}

// awaitIdle waits until no update is being applied, so that a request's memory may go. mu is held.
func (s *Server) awaitIdle() {
	for s.applying > 0 {
		changed := s.change()
		s.mu.Unlock()
		<-changed
		s.mu.Lock()
	}
}

// applyRound makes one update of the noted gradients of the workers in apply. mu is held on entry and exit, but not while
// the tables work. An update that has to wait for other servers is made beside, so that who closes a round here, such as server 0
// when it takes a dead worker out everywhere, can go on to the others.
func (s *Server) applyRound(apply []int) {
	switch {
	case len(apply) == 0:
	case s.asks():
		u := s.take(apply)
		s.waiting.Go(func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.update(u)
			s.broadcast()
		})
	default:
		s.update(s.take(apply))
	}
	s.broadcast()
}

// count is how many rows of embeddings a push has.
func (p *push) count() (n int) {
	for i := range p.grad.Rows {
		n += len(p.grad.Rows[i].IDs)
	}
	return n
}

// closing is an update of noted gradients, from when they are taken until they are in the tables.
type closing struct {
	what    update.Update
	round   mode.Round // that it closes; in modes with rounds
	workers []int
	pushes  []*push
}

// take makes the noted gradients of workers an update that is about to be applied. mu is held.
func (s *Server) take(workers []int) *closing {
	round := s.mode.Open() - 1
	s.changeRate(round)
	u := s.closings.Get().(*closing)
	u.what.Step, u.round, u.workers = s.store.Advance(), round, append(u.workers[:0], workers...) // the mode's own change with the next message
	u.what.Pushes, u.pushes = u.what.Pushes[:0], u.pushes[:0]
	for _, w := range workers {
		m := &s.members[w]
		m.noted.grad.Watches, m.noted.grad.Pulled = m.changed.watches(), slices.Clone(m.pulled)
		u.what.Pushes, u.pushes = append(u.what.Pushes, &m.noted.grad), append(u.pushes, m.noted)
		m.noted, m.counts = nil, round+1
	}
	if s.asks() {
		u.what.Sum = func(own []gradient.Squares) ([]gradient.Squares, error) { return s.lengths(round, own) }
	}
	s.applying++
	return u
}

// update applies it. mu is held on entry and exit, but not while the tables work.
func (s *Server) update(u *closing) {
	s.mu.Unlock()
	dropped, err := s.updates.Apply(&u.what)
	s.store.Finish(u.what.Step)
	s.mu.Lock()
	s.applying--
	before := s.updates.Changed()
	s.mode.Applied(u.workers)
	for _, p := range u.pushes {
		p.seen.apply(p.count(), dropped)
		p.seen.version = before
		if m := &s.members[p.worker]; m.life == p.life {
			m.window.last = max(m.window.last, p.step)
		}
	}
	if err != nil {
		s.fail(wire.Refuse(wire.StatusFailed, "server %d: update %d: %v", s.c.Index, u.what.Step, err))
	}
	clear(u.pushes) // their workers' requests go
	clear(u.what.Pushes)
	s.closings.Put(u)
}
