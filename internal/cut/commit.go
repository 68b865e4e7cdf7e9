package cut

import "github.com/gofleet/gofleet/internal/wire"

// Wrote says what came of writing this server's part: an answer that names it, or an error. Pushes go on. It says
// whether the part is to be removed again, since the save was given up and nobody wants it.
func (m *Machine) Wrote(id string, answer any, err error) (remove bool) {
	s := m.saves[id]
	m.release(s)
	if s.err = err; err == nil {
		s.answer = answer
	}
	if s.state == writing {
		s.state = written
	}
	return s.discarded && err == nil
}

// Answer is what this server says of its part of a save, however often it is asked; nil for one that is read.
func (m *Machine) Answer(id string) (any, error) {
	s := m.saves[id]
	switch {
	case s == nil:
		return nil, notTaken(id)
	case s.state == givenUp || s.state == committed && s.answer == nil:
		return nil, s.gaveUp()
	case s.err != nil:
		return nil, s.err
	}
	return s.answer, nil
}

// Commit begins to commit a save, on server 0, when no other is Committing. over says that there is nothing to do, as
// the save is committed. Otherwise the caller goes on to write the manifest, and calls [Machine.Committed].
func (m *Machine) Commit(msg *wire.Save) (over bool, err error) {
	s := m.saves[msg.ID]
	switch {
	case s != nil && s.state == committed:
		return true, nil
	case s == nil || s != m.open || s.state != written:
		return false, wire.Refuse(wire.StatusStale, "checkpoint %s is not being taken here: save again", msg.ID)
	case s.shrink == nil && len(msg.Parts) != m.o.Servers:
		return false, wire.Refuse(wire.StatusRefused, "checkpoint %s: %d parts of %d", msg.ID, len(msg.Parts),
			m.o.Servers)
	}
	m.committing = s
	return false, nil
}

// Committed says what came of it: the save is of that update, and freed so much if it ended a period. After an error it
// may be committed again, or given up.
func (m *Machine) Committed(step int64, freed wire.Freed, err error) {
	s := m.committing
	if m.committing = nil; err != nil {
		return
	}
	if s.state, s.step, s.freed = committed, step, freed; s.shrink != nil {
		m.periodEnded(s)
	}
	if m.open == s {
		m.open = nil
	}
}
