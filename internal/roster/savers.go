package roster

import (
	"slices"
	"time"
)

// Savers say which of the workers in the job saves its checkpoints: the lowest, but none that is late,
// which does not know how far the job is, before another.
type Savers struct {
	hope    *Hope
	members members
	asked   []asked  // by worker
	leaving []uint32 // by worker: the life that saves a last time
}

// asked is whether a worker was asked to end, as it has said.
type asked struct {
	ends bool
	sure bool // of that, whatever the next heartbeat says
}

// Asked takes note whether a worker was asked to end, as it says when it asks who saves.
func (s *Savers) Asked(worker int, ends bool) { s.asked[worker] = asked{ends: ends, sure: ends} }

// Beats takes note of what a worker's heartbeat says of that: the first behind such a call may have been sent before.
func (s *Savers) Beats(worker int, ends bool) {
	s.asked[worker] = asked{ends: ends || s.asked[worker].sure}
}

// Departing says whether a worker that was asked to end has not ended yet, and shows life.
func (s *Savers) Departing(now time.Time) bool {
	for w := range s.members {
		if m := &s.members[w]; m.state == alive && s.asked[w].ends && m.ends == "" && s.hope.hears(m, now) {
			return true
		}
	}
	return false
}

// Leaving are, by worker, the lives that save a last time, which must outlive a kill.
func (s *Savers) Leaving() []uint32 { return s.leaving }

// Leave takes note that a life saves a last time, after which another worker saves; false if that was known.
func (s *Savers) Leave(worker int, life uint32) bool {
	known := s.leaving[worker] == life
	s.leaving[worker] = life
	return !known
}

// Saves says whether no worker that saves before this one lives and goes on.
func (s *Savers) Saves(worker int) bool {
	return !slices.ContainsFunc(s.before(worker), func(w int) bool { return s.leaving[w] != s.members[w].life })
}

// Others says of the workers in the job that save before one whether any goes on, and whether any that was asked to end
// has not ended yet, and shows life. One that saves a last time ends then as well.
func (s *Savers) Others(worker int, now time.Time) (goesOn, departs bool) {
	for _, w := range s.before(worker) {
		m := &s.members[w]
		ends := s.asked[w].ends || s.leaving[w] == m.life
		goesOn = goesOn || !ends
		departs = departs || ends && s.hope.hears(m, now)
	}
	return goesOn, departs
}

// before are the workers in the job that save before one.
func (s *Savers) before(worker int) (all []int) {
	late := s.members[worker].late
	for w := range s.members {
		if m := &s.members[w]; m.lives() && (m.late == late && w < worker || late && !m.late) {
			all = append(all, w)
		}
	}
	return all
}
