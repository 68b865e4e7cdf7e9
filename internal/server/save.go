package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// Restore fills the tables from a checkpoint, which any number of servers may have written, or from a saved model.
func (s *Server) Restore(ctx context.Context, dir string, what checkpoint.Selection) error {
	m, err := checkpoint.Restore(ctx, dir, s.store, s.c.Rule.Name(), s.c.Layout.Params, s.owns, what)
	if err != nil {
		return fmt.Errorf("server %d: %w", s.c.Index, err)
	}
	some := len(what.Params) > 0
	if some {
		if err := s.Begin(ctx, what.Params...); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.origin = checkpoint.From(dir, what), m.Origin+": "+what.String()
	s.knowLoaded(m.Absent)
	if some {
		s.keepLoaded(what.Params)
	} else {
		s.markPublished()
	}
	s.log.Info("begins from "+s.from, "loaded", m.Origin)
	return nil
}

// Begin gives the tables the rows that their params begin with, but for those of these names; no name is none.
func (s *Server) Begin(ctx context.Context, except ...string) error {
	for i, t := range s.store.Tables {
		if slices.Contains(except, t.Param().Name) {
			continue
		}
		if err := t.Begin(ctx, func(id uint64) bool { return s.owns(i, id) }); err != nil {
			return fmt.Errorf("server %d: %w", s.c.Index, err)
		}
	}
	return nil
}

// owns says whether row id of table t lives on this server.
func (s *Server) owns(t int, id uint64) bool {
	return s.c.Layout.Embeddings[t].Owns(s.c.Index, id)
}

// keepLoaded has worker 0 publish around the dense params of those names. mu is held.
func (s *Server) keepLoaded(names []string) {
	s.loaded = map[*table.Dense]bool{}
	for _, b := range s.store.Blocks {
		s.loaded[b.Values] = slices.Contains(names, b.Param.Name)
	}
}

// awaitCut holds a push that the cut of a save leaves out. mu is held.
func (s *Server) awaitCut(f *wire.Frame) error {
	return s.await(func() bool { return !s.cut.Holds(int(f.Worker), f.Seq) },
		func() string { return fmt.Sprintf("for checkpoint %s to be written", s.cut.Holder()) })
}

// freeze begins a cut, after one that is under way, and says which steps are in the tables; or that the work was done at this very
// step, and nothing begins.
func (s *Server) freeze(f *wire.Frame, r *reply) error {
	var msg wire.Save
	if err := f.JSON(&msg); err != nil {
		return err
	}
	if err := s.enter(f); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.await(func() bool { return s.cut.Free(msg.ID) }, func() string { return "for another checkpoint to be written" }); err != nil {
		return err
	}
	if err := s.cut.Freeze(&msg, int(f.Worker)); err != nil {
		return err
	}
	s.awaitIdle()
	answer, done := s.cut.Done(msg.ID, s.store.Step())
	if done {
		s.broadcast()
		return r.JSON(answer)
	}
	for w := range s.members {
		answer.Steps = append(answer.Steps, s.members[w].window.last)
	}
	return r.JSON(answer)
}

// save brings the tables to the cut, does what it is for, and lets pushes go on, unless its worker reads: once, however often it is
// asked to.
func (s *Server) save(f *wire.Frame, r *reply) error {
	var msg wire.Save
	if err := f.JSON(&msg); err != nil {
		return err
	}
	first, err := s.reach(f, &msg)
	switch {
	case err != nil:
		return err
	case first && msg.Shrink != nil:
		s.shrink(&msg)
	case first && !msg.Read:
		s.write(&msg)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, err := s.cut.Answer(msg.ID)
	if err != nil || msg.Read {
		return err
	}
	return r.JSON(answer)
}

// reach lets the pushes of the cut through and waits until they are applied. The first who asks for a save is to do its work, and
// others wait for that.
func (s *Server) reach(f *wire.Frame, msg *wire.Save) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return false, err
	}
	written := func() string { return fmt.Sprintf("for checkpoint %s to be written", msg.ID) }
	if err := s.await(func() bool { return !s.cut.Busy(msg.ID) }, written); err != nil {
		return false, err
	}
	if first, err = s.cut.Reach(msg); err != nil || !first {
		return false, err
	}
	defer s.broadcast()
	s.broadcast()
	if err = s.await(s.atCut, func() string { return fmt.Sprintf("for the steps of checkpoint %s", msg.ID) }); err == nil {
		err = s.takeFrozen(s.cut.Values(msg.ID))
	}
	if err != nil {
		s.cut.Lost(msg.ID)
		return true, err
	}
	return true, s.cut.Reached(msg.ID)
}

// atCut says whether every step of the cut is in the tables; those of a worker that is gone never will be. mu is held.
func (s *Server) atCut() bool {
	for w := range s.members {
		if m := &s.members[w]; m.state == alive && !m.window.reached(s.cut.UpTo(w)) {
			return false
		}
	}
	return s.applying == 0
}

// write writes this server's part of a checkpoint.
func (s *Server) write(msg *wire.Save) {
	step, factors := s.store.Step(), s.savedFactors()
	part, err := checkpoint.WritePart(context.Background(), msg.Dir, checkpoint.PartName(msg.ID, s.c.Index, len(s.c.Endpoints)), s.store)
	if err == nil {
		s.log.Info("wrote checkpoint", "dir", msg.Dir, "file", part.File, "bytes", part.Bytes, "rows", part.Rows)
	}
	s.wrote(msg, wire.Part{File: part.File, Bytes: part.Bytes, Sum: part.Sum, Server: s.c.Index, Step: step, Rows: part.Rows, RateFactors: factors}, err)
}

// wrote ends the cut, with what this server answers for its part. A part that nobody wants any more is removed.
func (s *Server) wrote(msg *wire.Save, answer any, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut.Wrote(msg.ID, answer, err) {
		if err := remove(msg, answer); err != nil {
			s.log.Warn("the part of a checkpoint that was given up is left", "dir", msg.Dir, "error", err)
		}
	}
	s.broadcast()
}

// remove removes the file that an answer names, if it names one.
func remove(msg *wire.Save, answer any) error {
	part, ok := answer.(wire.Part)
	if !ok {
		return nil
	}
	return checkpoint.Discard(msg.Dir, part.File)
}

// commit checks, on server 0, that all parts are where it can see them, and writes the manifest; or it ends a save that failed.
func (s *Server) commit(f *wire.Frame) error {
	var msg wire.Save
	if err := f.JSON(&msg); err != nil {
		return err
	}
	over, err := s.committing(f, &msg)
	if over || err != nil {
		return err
	}
	step := s.store.Step()
	if msg.Shrink == nil {
		step = msg.Parts[0].Step
		err = checkpoint.Commit(msg.Dir, s.manifest(&msg))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cut.Committed(step, msg.Freed, err)
	s.broadcast()
	return err
}

// committing says whether there is nothing to commit: the save is given up, or a commit has come again.
func (s *Server) committing(f *wire.Frame, msg *wire.Save) (over bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return false, err
	}
	err = s.await(func() bool { return s.cut.Committing() == "" }, func() string { return fmt.Sprintf("for checkpoint %s to be written", s.cut.Committing()) })
	switch {
	case err != nil:
		return false, err
	case !msg.Abandon:
		return s.cut.Commit(msg)
	}
	s.cut.GiveUp(msg, int(f.Worker))
	s.broadcast()
	if msg.Discard {
		err = remove(msg, s.cut.Discard(msg))
	}
	return true, err
}

// manifest is that of a checkpoint whose parts are written.
func (s *Server) manifest(msg *wire.Save) checkpoint.Manifest {
	m := checkpoint.Manifest{ID: msg.ID, Rule: s.c.Rule.Name(), Step: msg.Parts[0].Step, Steps: msg.Steps,
		RateFactors: fromWire(msg.Parts[0].RateFactors), Params: checkpoint.Params(s.c.Layout.Params)}
	for _, p := range msg.Parts {
		m.Parts = append(m.Parts, checkpoint.Part{File: p.File, Bytes: p.Bytes, Sum: p.Sum, Rows: p.Rows})
	}
	return m
}
