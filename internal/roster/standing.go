package roster

import (
	"fmt"
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

// Returned is how many lives have begun in the place of another.
func (r *Roster) Returned() (n int) {
	for i := range r.members {
		n += max(0, int(r.members[i].life)-1)
	}
	return n
}

// Describe says how a worker stands, for a person.
func (r *Roster) Describe(w int, now time.Time) string { return r.members.describe(w, now) }

func (all members) describe(w int, now time.Time) string {
	switch m := &all[w]; {
	case m.state == absent:
		return fmt.Sprintf("worker %d (has not joined)", w)
	case m.state == left:
		return fmt.Sprintf("worker %d (has stopped)", w)
	case m.state == dead:
		return fmt.Sprintf("worker %d (died, and was not started again)", w)
	case m.ends != "":
		return fmt.Sprintf("worker %d (has ended: %s)", w, m.ends)
	default:
		return fmt.Sprintf("worker %d (last seen %v ago)", w, now.Sub(m.seen).Round(time.Millisecond))
	}
}

// since is what has become of a member, for a process that would take its place.
func (m *member) since(now time.Time) string {
	switch {
	case m.state == left:
		return "has stopped"
	case m.state == dead || m.fenced:
		return fmt.Sprintf("counts as dead (%s)", m.why)
	case m.ends != "":
		return fmt.Sprintf("has ended (%s)", m.ends)
	}
	return fmt.Sprintf("was heard %v ago", now.Sub(m.seen).Round(time.Millisecond))
}

// Dead lists the workers that ended without a word.
func (r *Roster) Dead() (ws []int) {
	for w := range r.members {
		if r.members[w].state == dead {
			ws = append(ws, w)
		}
	}
	return ws
}
