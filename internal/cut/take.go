package cut

import "github.com/gofleet/gofleet/internal/wire"

// Kept refuses what is for a cut that is read, and is not kept any more.
func (m *Machine) Kept(id string) error {
	if s := m.saves[id]; s == nil || s.state != reading {
		return wire.Refuse(wire.StatusStale, "cut %s is not kept here any more (its worker may have been silent for "+
			"too long): begin again", id)
	}
	return nil
}

// Aside is what the tables may become in a cut that is kept, which the first who asks makes.
func (m *Machine) Aside(id string, made func() any) (aside any, first bool, err error) {
	if err := m.Kept(id); err != nil {
		return nil, false, err
	}
	s := m.saves[id]
	if first = s.aside == nil; first {
		s.aside = made()
	}
	return s.aside, first, nil
}

// Take says that the worker which reads a cut has the tables become others, once: first is false for a request that
// comes again. Servers do so one after the other. So from now on the cut must be ended, and a worker that gives it up
// or is gone leaves torn tables. No save before has what the tables are now.
func (m *Machine) Take(id string) (first bool, err error) {
	if s := m.saves[id]; s != nil && s.state == taken {
		return false, nil
	}
	if err := m.Kept(id); err != nil {
		return false, err
	}
	m.saves[id].state = taken
	m.Outdated()
	return true, nil
}

// noStep is no update's number.
const noStep = -1

// End says that every server has taken what the cut was for. One that is not known was ended before.
func (m *Machine) End(id string) {
	if s := m.saves[id]; s != nil && s.state == taken {
		s.state = reading
		m.drop(s)
	}
}

// Mark says that the tables begin to take note of what the worker that reads a cut has saved for serving: until
// [Machine.Marked] nobody else does, and pushes wait, though the cut be given up.
func (m *Machine) Mark(id string) error {
	if err := m.Kept(id); err != nil {
		return err
	}
	m.saves[id].state = marking
	return nil
}

// Marking says that the tables take note for a cut.
func (m *Machine) Marking(id string) bool {
	s := m.saves[id]
	return s != nil && s.state == marking
}

// Marked says that they have. No save before has what the tables are now.
func (m *Machine) Marked(id string) {
	s := m.saves[id]
	m.Outdated()
	if s.state == marking {
		s.state = reading
		return
	}
	m.release(s)
}
