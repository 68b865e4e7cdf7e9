package mode

import "slices"

// Meeting is the worker's half of half-async training. Each training thread of a worker has a session, and delivers a
// gradient at each step; when all open sessions have, the gradients make one push. Servers treat it as in async. A
// session that has closed is not waited for.
type Meeting struct {
	sessions  []int // open, in the order they were opened
	delivered []int
	next      int
	pushing   bool
	hasty     bool // a session that delivered can't wait for the others
}

// Open opens a session and returns its number.
func (m *Meeting) Open() int {
	m.next++
	m.sessions = append(m.sessions, m.next)
	return m.next
}

// Sessions returns how many sessions are open.
func (m *Meeting) Sessions() int { return len(m.sessions) }

// Delivered returns how many sessions wait for the others.
func (m *Meeting) Delivered() int { return len(m.delivered) }

// Deliver records a session's gradient. It returns the sessions whose gradients now make one push, in the order they
// were opened; none while others are awaited or a push is under way.
func (m *Meeting) Deliver(session int) []int {
	m.delivered = append(m.delivered, session)
	return m.complete()
}

// DeliverAlone is Deliver for a session that can't wait for the others, which may have nothing more to deliver: its
// gradient makes a push with those delivered so far.
func (m *Meeting) DeliverAlone(session int) []int {
	m.hasty = true
	return m.Deliver(session)
}

// Close removes a session, with the gradient it may have delivered. It may complete the others' push.
func (m *Meeting) Close(session int) []int {
	same := func(s int) bool { return s == session }
	m.sessions, m.delivered = slices.DeleteFunc(m.sessions, same), slices.DeleteFunc(m.delivered, same)
	m.hasty = m.hasty && len(m.delivered) > 0
	return m.complete()
}

// Pushed records the end of a push. Sessions that have delivered meanwhile may make the next.
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
