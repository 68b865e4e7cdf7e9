package mode

import "slices"

// Meeting is the worker's half of half-async training: the open sessions of a worker, one for each training thread,
// each deliver a gradient, and when all have, the gradients go as one push. Servers treat it as async does. A session
// that closes is waited for no more.
type Meeting struct {
	sessions  []int // open, in the order they were opened
	delivered []int
	next      int
	pushing   bool
	hasty     bool // one that delivered can't wait for the others
}

// Open is the number of a new session.
func (m *Meeting) Open() int {
	m.next++
	m.sessions = append(m.sessions, m.next)
	return m.next
}

// Sessions is how many are open, Delivered how many of them wait.
func (m *Meeting) Sessions() int { return len(m.sessions) }

// Delivered is how many sessions wait for the others.
func (m *Meeting) Delivered() int { return len(m.delivered) }

// Deliver takes note of a session's gradient. It returns the sessions whose gradients now make one push, in the order
// they were opened; none while others are awaited or a push is under way.
func (m *Meeting) Deliver(session int) []int {
	m.delivered = append(m.delivered, session)
	return m.complete()
}

// DeliverAlone is Deliver for a session that can't wait for the others, which may have nothing more to deliver: its
// gradient goes with the gradients that are there.
func (m *Meeting) DeliverAlone(session int) []int {
	m.hasty = true
	return m.Deliver(session)
}

// Close takes a session out, with the gradient it may have delivered. It may complete the others' push.
func (m *Meeting) Close(session int) []int {
	same := func(s int) bool { return s == session }
	m.sessions, m.delivered = slices.DeleteFunc(m.sessions, same), slices.DeleteFunc(m.delivered, same)
	m.hasty = m.hasty && len(m.delivered) > 0
	return m.complete()
}

// Pushed ends a push. Sessions that have delivered meanwhile may make the next.
func (m *Meeting) Pushed() []int {
	m.pushing = false
	return m.complete()
}

func (m *Meeting) complete() []int {
	if m.pushing || len(m.delivered) == 0 || len(m.delivered) < len(m.sessions) && !m.hasty {
		return nil
	}
	all := m.delivered
	slices.Sort(all)
	m.delivered, m.pushing, m.hasty = nil, true, false
	return all
}
