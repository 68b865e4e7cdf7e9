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

// Returned is how many lives have begun in the place of another.
func (r *Roster) Returned() (n int) {
	for i := range r.members {
		n += max(0, int(r.members[i].life)-1)
	}
	return n
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
