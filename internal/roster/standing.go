package roster

import (
	"time"
)

// Standing is the state of a worker, for counters.
type Standing = state

// The standings.
const (
	Absent, Here, Left, Dead = absent, alive, left, dead
)

// Count is the number of workers in a state.
func (r *Roster) Count(is Standing) (n int) {
	for i := range r.members {
		if r.members[i].state == is {
			n++
		}
	}
	return n
}

// Member is the state of a worker: absent, here, expected back, left or dead. Since is when the life of a worker that
// is here began, or the last sign of life of another; it is zero for an absent one.
type Member struct {
	Worker int
	State  string
	Life   int
	Since  time.Time
}

// Members returns the state of all workers.
func (r *Roster) Members() []Member {
	all := make([]Member, len(r.members))
	for w := range r.members {
		m := &r.members[w]
		all[w] = Member{w, m.standing(!r.Hope.givenUp), int(m.life), m.seen}
		if m.lives() {
			all[w].Since = m.began
		}
	}
	return all
}

// standing is the state of a worker; hopes reports whether the server still expects workers back.
func (m *member) standing(hopes bool) string {
	switch {
	case m.state == absent:
		return "absent"
	case m.lives():
		return "here"
	case m.state == left:
		return "left"
	case (m.returns || m.awaited) && hopes:
		return "expected back"
	}
	return "dead"
}

// Describe describes the state of the first few workers, and says how many more there are, for a person.
func (r *Roster) Describe(workers []int, now time.Time) []string { return r.members.some(workers, now) }

// Dead lists the workers that were declared dead.
func (r *Roster) Dead() (ws []int) {
	for w := range r.members {
		if r.members[w].state == dead {
			ws = append(ws, w)
		}
	}
	return ws
}
