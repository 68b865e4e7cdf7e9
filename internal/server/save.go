package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// cut is a checkpoint in the making. From freeze on, pushes wait; then the worker that saves knows how far each server has
// come and names the furthest steps, up to which pushes are let through, so that all parts hold the same steps of every
// worker; then each server writes its part, and pushes go on. It ends early when that worker gives up or dies.
type cut struct {
	id     string
	worker int
	// upTo are the last steps of each worker that the checkpoint holds; nil until they are known.
	upTo    []uint64
	writing bool
	// reading says that the cut is reached and kept until its worker has read what it wants; ids are then the rows of tables that it has asked for.
	reading bool
	ids     map[uint32][]uint64
	// frozen are, on server 0, the first so many of the saving worker's frozen dense values, which come in pieces.
	frozen []float32
}

// saves is what server 0 knows of checkpoints: one is taken at a time, and none twice of the same step.
type saves struct {
	id     string // under way, from freeze to commit
	worker int
	dir    string
	done   map[string]int64 // the step of the last checkpoint, by directory
	// committed are the last ones that were, or that found the work done: for messages of theirs that come again.
	committed []string
	// committing is the one whose manifest is being written.
	committing string
	// wrote is the last part that this server wrote, for a save that comes again.
	wrote struct {
		id    string
		part  wire.Part
		freed wire.Freed // instead, of one that shrinks
		err   error
	}
	// discarded is the last one whose files are not wanted: one that is still being written is removed then.
	discarded string
	// day is the last one that was ended.
	day day
	// ended are the last ones whose cut is over here: a message of theirs that comes late begins no other.
	ended []string
}

// keepSaves is how many saves that are over are remembered.
const keepSaves = 64

// end notes that the cut of a save is over.
func (s *saves) end(id string) { s.ended = remember(s.ended, id) }

// remember adds an id to the last ones.
func remember(ids []string, id string) []string {
	if slices.Contains(ids, id) {
		return ids
	}
	if len(ids) == keepSaves {
		ids = slices.Delete(ids, 0, 1)
	}
	return append(ids, id)
}

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

// awaitCut holds a push while a checkpoint's cut leaves it out. mu is held.
func (s *Server) awaitCut(f *wire.Frame) error {
	return s.await(func() bool {
		return s.cut == nil || s.cut.upTo != nil && f.Seq <= s.cut.upTo[f.Worker]
	}, func() string { return fmt.Sprintf("for checkpoint %s to be written", s.cut.id) })
}

// freeze begins a cut, after one that is under way, and says which steps are in the tables. Server 0 says when the
// directory has a checkpoint of this very step: then nothing begins.
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
	ended := func() bool { return slices.Contains(s.saves.ended, msg.ID) }
	free := func() bool {
		return ended() || (s.cut == nil && s.saves.id == "") || s.saves.id == msg.ID || s.cut != nil && s.cut.id == msg.ID
	}
	if err := s.await(free, func() string { return "for another checkpoint to be written" }); err != nil {
		return err
	}
	switch {
	case slices.Contains(s.saves.committed, msg.ID):
		return r.JSON(s.frozenBefore(&msg))
	case ended():
		return wire.Refuse(wire.StatusStale, "checkpoint %s is over", msg.ID)
	}
	s.beginCut(f, &msg) // before mu is given up: two that waited would both begin
	s.awaitIdle()
	if s.doneBefore(int(f.Worker), &msg) {
		s.saves.committed = remember(s.saves.committed, msg.ID)
		s.abandon(int(f.Worker), msg.ID)
		return r.JSON(s.frozenBefore(&msg))
	}
	steps := make([]uint64, len(s.members))
	for w := range s.members {
		steps[w] = s.members[w].window.last
	}
	return r.JSON(wire.Frozen{Steps: steps})
}

// doneBefore says, on server 0, that another worker has done at this very step what msg asks for. mu is held.
func (s *Server) doneBefore(worker int, msg *wire.Save) bool {
	switch {
	case s.c.Index != 0:
		return false
	case msg.Shrink != nil:
		return s.saves.day.shared(worker, s.store.Step(), *msg.Shrink)
	}
	step, ok := s.saves.done[msg.Dir]
	return ok && step == s.store.Step()
}

// frozenBefore answers a save that finds its work done.
func (s *Server) frozenBefore(msg *wire.Save) wire.Frozen {
	if msg.Shrink != nil {
		return wire.Frozen{Saved: true, Freed: s.saves.day.freed}
	}
	return wire.Frozen{Saved: true}
}

// beginCut makes msg the save under way. mu is held.
func (s *Server) beginCut(f *wire.Frame, msg *wire.Save) {
	if s.c.Index == 0 {
		s.saves.id, s.saves.worker, s.saves.dir = msg.ID, int(f.Worker), msg.Dir
	}
	if s.cut == nil {
		s.cut = &cut{id: msg.ID, worker: int(f.Worker)}
	}
}

// abandon ends what a worker has begun to save; a part that is being written is finished first. mu is held.
func (s *Server) abandon(worker int, id string) {
	if c := s.cut; c != nil && c.worker == worker && !c.writing && (id == "" || id == c.id) {
		s.thaw()
	}
	if s.saves.id != "" && s.saves.worker == worker && (id == "" || id == s.saves.id) {
		s.saves.id = ""
		s.broadcast()
	}
}

// thaw ends the cut. mu is held.
func (s *Server) thaw() {
	if s.cut != nil {
		s.saves.end(s.cut.id)
	}
	s.cut = nil
	s.broadcast()
}

// save brings the tables to the cut, writes this server's part, and lets pushes go on: once, however often it is asked to.
func (s *Server) save(f *wire.Frame, r *reply) error {
	var msg wire.Save
	if err := f.JSON(&msg); err != nil {
		return err
	}
	first, err := s.reach(f, &msg)
	if err != nil || msg.Read {
		return err
	}
	switch {
	case first && msg.Shrink != nil:
		s.shrink(&msg)
	case first:
		s.write(&msg)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch wrote := &s.saves.wrote; {
	case wrote.id != msg.ID:
		return wire.Refuse(wire.StatusStale, "checkpoint %s was given up: save again", msg.ID)
	case wrote.err != nil:
		return wrote.err
	case msg.Shrink != nil:
		return r.JSON(wrote.freed)
	default:
		return r.JSON(wrote.part)
	}
}

// write writes this server's part and ends the cut.
func (s *Server) write(msg *wire.Save) {
	step, factors := s.store.Step(), s.savedFactors()
	part, err := checkpoint.WritePart(context.Background(), msg.Dir, checkpoint.PartName(msg.ID, s.c.Index, len(s.c.Endpoints)), s.store)
	if err == nil {
		s.log.Info("wrote checkpoint", "dir", msg.Dir, "file", part.File, "bytes", part.Bytes, "rows", part.Rows)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.saves.discarded == msg.ID {
		err = errors.Join(wire.Refuse(wire.StatusStale, "checkpoint %s was given up: save again", msg.ID), checkpoint.Discard(msg.Dir, part.File))
	}
	s.saves.wrote.id, s.saves.wrote.err = msg.ID, err
	s.saves.wrote.part = wire.Part{File: part.File, Bytes: part.Bytes, Sum: part.Sum, Server: s.c.Index, Step: step, Rows: part.Rows, RateFactors: factors}
	s.thaw()
}

// reach lets the pushes of the cut through and waits until they are applied. The first who asks for a save is to write it, and
// others wait for him. A cut for reading is kept.
func (s *Server) reach(f *wire.Frame, msg *wire.Save) (first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil || s.saves.wrote.id == msg.ID {
		return false, err
	}
	c := s.cut
	if c != nil && c.id == msg.ID && c.writing {
		err := s.await(func() bool { return s.cut != c || c.reading }, func() string { return fmt.Sprintf("for checkpoint %s to be written", msg.ID) })
		if err != nil || !msg.Read {
			return false, err
		}
		c = s.cut
	}
	if c != nil && c.id == msg.ID && c.reading {
		return false, nil
	}
	if c == nil || c.id != msg.ID || len(msg.Steps) != len(s.members) {
		return false, wire.Refuse(wire.StatusStale, "checkpoint %s is not being taken here (its worker may have been silent for too long): save again", msg.ID)
	}
	if n := s.frozenFloats(); msg.Shrink == nil && !msg.Read && len(c.frozen) != n {
		return false, wire.Refuse(wire.StatusRefused, "checkpoint %s: %d of %d frozen values have come", msg.ID, len(c.frozen), n)
	}
	c.upTo, c.writing = msg.Steps, true
	s.broadcast()
	err = s.await(s.atCut, func() string { return fmt.Sprintf("for the steps of checkpoint %s", msg.ID) })
	if err == nil {
		err = s.takeFrozen(c)
	}
	if err == nil && msg.Read {
		err = s.keepCut(f, c)
	}
	if err != nil {
		s.thaw()
	}
	return true, err
}

// keepCut keeps a cut for reading, unless its worker has gone or given it up while it was waited for. mu is held.
func (s *Server) keepCut(f *wire.Frame, c *cut) error {
	if _, err := s.member(&f.Header); err != nil {
		return err
	}
	if slices.Contains(s.saves.ended, c.id) {
		return wire.Refuse(wire.StatusStale, "cut %s was given up", c.id)
	}
	c.writing, c.reading = false, true
	s.broadcast()
	return nil
}

// atCut says whether every step of the cut is in the tables; those of a worker that is gone never will be.
func (s *Server) atCut() bool {
	for w := range s.members {
		if m := &s.members[w]; m.state == alive && !m.window.reached(s.cut.upTo[w]) {
			return false
		}
	}
	return s.applying == 0
}

// commit checks, on server 0, that all parts are where it can see them, and writes the manifest; or it ends a save that failed.
func (s *Server) commit(f *wire.Frame) error {
	var msg wire.Save
	if err := f.JSON(&msg); err != nil {
		return err
	}
	over, err := s.committing(f, &msg)
	if err == nil && msg.Abandon && msg.Discard {
		return s.discard(&msg)
	}
	if over || err != nil {
		return err
	}
	if msg.Shrink != nil {
		s.endDay(int(f.Worker), &msg)
		return nil
	}
	m := checkpoint.Manifest{ID: msg.ID, Rule: s.c.Rule.Name(), Step: msg.Parts[0].Step, Steps: msg.Steps, RateFactors: fromWire(msg.Parts[0].RateFactors), Params: checkpoint.Params(s.c.Layout.Params)}
	for _, p := range msg.Parts {
		m.Parts = append(m.Parts, checkpoint.Part{File: p.File, Bytes: p.Bytes, Sum: p.Sum, Rows: p.Rows})
	}
	err = checkpoint.Commit(msg.Dir, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.broadcast()
	s.saves.committing = ""
	if err != nil {
		return err
	}
	if s.saves.done == nil {
		s.saves.done = make(map[string]int64)
	}
	s.saves.done[msg.Dir], s.saves.committed = m.Step, remember(s.saves.committed, msg.ID)
	s.abandon(int(f.Worker), msg.ID)
	return nil
}

// discard removes the part that was written for a save that failed, and that no manifest names.
func (s *Server) discard(msg *wire.Save) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	wrote := &s.saves.wrote
	if slices.Contains(s.saves.committed, msg.ID) {
		return nil
	}
	if s.saves.discarded = msg.ID; wrote.id != msg.ID || wrote.err != nil || msg.Shrink != nil {
		return nil
	}
	wrote.err = wire.Refuse(wire.StatusStale, "checkpoint %s was given up: save again", msg.ID)
	return checkpoint.Discard(msg.Dir, wrote.part.File)
}

// committing says whether there is nothing to commit: the save is given up, or a commit has come again. Two at once would
// remove each other's files, and those of the next save.
func (s *Server) committing(f *wire.Frame, msg *wire.Save) (over bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := s.member(&f.Header); err != nil {
		return false, err
	}
	err = s.await(func() bool { return s.saves.committing == "" }, func() string { return fmt.Sprintf("for checkpoint %s to be written", s.saves.committing) })
	switch {
	case err != nil:
		return false, err
	case msg.Abandon:
		s.saves.end(msg.ID)
		s.abandon(int(f.Worker), msg.ID)
		return true, nil
	case slices.Contains(s.saves.committed, msg.ID):
		return true, nil
	case s.saves.id != msg.ID:
		return false, wire.Refuse(wire.StatusStale, "checkpoint %s is not being taken here: save again", msg.ID)
	case msg.Shrink == nil && len(msg.Parts) != len(s.c.Endpoints):
		return false, wire.Refuse(wire.StatusRefused, "checkpoint %s: %d parts of %d", msg.ID, len(msg.Parts), len(s.c.Endpoints))
	}
	s.saves.committing = msg.ID
	return false, nil
}
