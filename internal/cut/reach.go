package cut

import (
	"bytes"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// Free says whether a save need not wait for another one before it freezes: it can begin, has begun, or is over.
func (m *Machine) Free(id string) bool {
	return m.saves[id] != nil || m.holder == nil && m.writer == nil && m.open == nil
}

// Freeze begins a save that is Free: pushes are held from here on. A freeze that comes again changes nothing, and one
// of a save that is over is refused, unless it was committed, which [Machine.Done] then says.
func (m *Machine) Freeze(msg *wire.Save, worker int) error {
	switch s := m.saves[msg.ID]; {
	case s == nil:
		m.holder = m.add(msg, worker, freezing)
		if m.o.First {
			m.open = m.holder
		}
	case s.state == written || s.state == givenUp:
		return wire.Refuse(wire.StatusStale, "checkpoint %s is over", msg.ID)
	}
	return nil
}

// Done says, on server 0, that there is nothing to do for a save that has begun: its work was done at this very step of
// the tables, by itself or by another. Workers that all save after a barrier make one checkpoint, and those that all
// end a period end one. If there is, the answer has the name of the period that is to end.
func (m *Machine) Done(id string, step int64) (answer wire.Held, done bool) {
	s := m.saves[id]
	if s == nil || !m.o.First {
		return wire.Held{}, false
	}
	if s.state == freezing {
		same := m.same(s, step)
		if same == nil {
			m.name(s, step)
			return wire.Held{Period: s.period}, false
		}
		m.drop(s)
		s.state, s.step, s.freed = committed, step, same.freed
	}
	return wire.Held{Saved: true, Freed: s.freed}, s.state == committed
}

// same is a committed save that did at this step what s is for. The end of a period is shared with each worker once: a
// worker that asks again wants another period.
func (m *Machine) same(s *save, step int64) *save {
	switch {
	case s.shrink != nil:
	case s.read:
		return nil
	default:
		return m.sameFiles(s, step)
	}
	p := m.period
	if p == nil || p.step != step || *p.shrink != *s.shrink || p.dir != s.dir || slices.Contains(p.told, s.worker) {
		return nil
	}
	p.told = append(p.told, s.worker)
	return p
}

// sameFiles is the last save into a directory, if it wrote at this step what s is to write.
func (m *Machine) sameFiles(s *save, step int64) *save {
	for _, o := range slices.Backward(m.order) {
		if o.state != committed || o.shrink != nil || o.dir != s.dir || !o.says(s.progress) {
			continue
		}
		if o.step == step && slices.Equal(o.params, s.params) {
			return o
		}
		return nil
	}
	return nil
}

// says whether a save has that progress beside the weights.
func (s *save) says(p *wire.Progress) bool {
	if s.progress == nil || p == nil {
		return s.progress == p
	}
	return s.progress.Epoch == p.Epoch && bytes.Equal(s.progress.User, p.User)
}

// Keep takes a piece of the saving worker's frozen dense values, from that place on. Pieces come in order, before the
// save's steps; one that comes again changes nothing.
func (m *Machine) Keep(id string, worker, from int, w []float32) error {
	s := m.holder
	if s == nil || s.id != id || s.worker != worker || s.state != freezing {
		return notTaken(id)
	}
	have, to := len(s.values), from+len(w)
	if w == nil || from > have {
		return wire.Refuse(wire.StatusRefused, "checkpoint %s: expected frozen values from %d on, got %d to %d of %d "+
			"(%d values)",
			id, have, from, to, m.o.Values, len(w))
	}
	if to > have {
		s.values = append(s.values[:from], w...)
	}
	return nil
}

// Busy says that another request of a save has its cut reached, or its work done: what comes of it is the answer to
// this one too.
func (m *Machine) Busy(id string) bool {
	s := m.saves[id]
	return s != nil && (s.state == reaching || s.state == writing && s != m.writer)
}

// Writing says that the part of a save is not there yet.
func (m *Machine) Writing(id string) bool { return m.Busy(id) || m.writer.name() == id }

// Reach says which steps the cut of a save holds. The request that is first has them come into the tables and then
// calls [Machine.Reached] or [Machine.Lost]; others, which come when the save isn't Busy, find in [Machine.Answer] what
// became of it.
func (m *Machine) Reach(msg *wire.Save) (first bool, err error) {
	s := m.saves[msg.ID]
	switch {
	case s == nil || s.read != msg.Read:
		return false, notTaken(msg.ID)
	case s.state != freezing:
		return false, nil
	case len(msg.Steps) != m.o.Workers:
		return false, notTaken(msg.ID)
	case s.shrink == nil && !s.read && len(s.values) != m.o.Values:
		return false, wire.Refuse(wire.StatusRefused, "checkpoint %s: %d of %d frozen values have come",
			msg.ID, len(s.values), m.o.Values)
	}
	s.upTo, s.state = msg.Steps, reaching
	return true, nil
}

// GivenUp says that a save which has begun was given up.
func (m *Machine) GivenUp(id string) bool { return m.saves[id].state == givenUp }

// Values are the frozen dense values that have come with a save.
func (m *Machine) Values(id string) []float32 { return m.saves[id].values }

// Reached says that the steps of a save are in the tables: its part is to be written now, or kept for reading. It fails
// if the save was given up meanwhile.
func (m *Machine) Reached(id string) error {
	s := m.saves[id]
	switch {
	case s.state == givenUp:
		m.release(s)
		return s.gaveUp()
	case s.read:
		s.state = reading
	default:
		s.state = writing
	}
	return nil
}

// Imaged says that there is an image of what the part of a save is to have: pushes go on while it is written.
func (m *Machine) Imaged(id string) {
	s := m.saves[id]
	if m.holder == s {
		m.holder = nil
	}
	m.writer = s
}

// Lost says that the steps of a save won't come into the tables.
func (m *Machine) Lost(id string) {
	s := m.saves[id]
	s.state = givenUp
	m.release(s)
}

// Rows are the ids of tables that were listed since a cut is read, for the caller to add to. They go with the cut.
func (m *Machine) Rows(id string) (map[uint32][]uint64, error) {
	s := m.saves[id]
	if err := m.Kept(id); err != nil {
		return nil, err
	}
	if s.rows == nil {
		s.rows = make(map[uint32][]uint64)
	}
	return s.rows, nil
}
