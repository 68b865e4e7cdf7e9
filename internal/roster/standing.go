package roster

import (
	"time"
)

// Standing is how a worker stands, for who counts them.
type Standing = state

// The standings.
const (
	Absent, Here, Left, Dead = absent, alive, left, dead
)

// Count is how many workers stand so.
func (r *Roster) Count(is Standing) (n int) {
	for i := range r.members {
		if r.members[i].state == is {
			n++
		}
	}
	return n
}

// Member is how a worker stands: absent, here, expected back, left or dead. Since is when the life of one that is here
// began, and when another was heard last; zero of one that is absent.
type Member struct {
	Worker int
	State  string
	Life   int
	Since  time.Time
}

// Members are all workers of the job.
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

// standing is how the worker stands, where the server hopes that workers come back.
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

// Describe says how a worker stands, for a person.
func (r *Roster) Describe(w int, now time.Time) string { return r.members.describe(w, now) }

// Dead lists the workers that ended without a word.
func (r *Roster) Dead() (ws []int) {
	for w := range r.members {
		if r.members[w].state == dead {
			ws = append(ws, w)
		}
	}
	return ws
}
