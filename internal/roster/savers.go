package roster

import (
	"slices"
	"time"
)

// Savers decides which of the workers in the job saves its checkpoints: the lowest one that is not late, since a late
// worker does not know how far the job is; a late one only if all are.
type Savers struct {
	hope    *Hope
	members members
	asked   []asked  // by worker
	leaving []uint32 // by worker: the life that saves a last time
}

// asked records whether a worker was asked to end, as it reports.
type asked struct {
	ends bool
	sure bool // it stays so, whatever the next heartbeat says
}

// Asked notes whether a worker was asked to end, as it reports when it asks who saves.
func (s *Savers) Asked(worker int, ends bool) { s.asked[worker] = asked{ends: ends, sure: ends} }

// Beats notes whether a worker was asked to end, as its heartbeat reports. The first heartbeat after a call of Asked
// may have been sent before it.
func (s *Savers) Beats(worker int, ends bool) {
	s.asked[worker] = asked{ends: ends || s.asked[worker].sure}
}

// Departing reports whether a worker that was asked to end has not ended yet, and shows life.
func (s *Savers) Departing(now time.Time) bool {
	for w := range s.members {
		if m := &s.members[w]; m.state == alive && s.asked[w].ends && m.ends == "" && s.hope.hears(m, now) {
			return true
		}
	}
	return false
}

// Leaving are, by worker, the lives that save a last time; they must survive a kill.
func (s *Savers) Leaving() []uint32 { return s.leaving }

// Leave notes that a life saves a last time, after which another worker saves; it returns false if that was noted
// before.
func (s *Savers) Leave(worker int, life uint32) bool {
	known := s.leaving[worker] == life
	s.leaving[worker] = life
	return !known
}

// Saves reports whether this worker saves: every worker before it has left or saves a last time.
func (s *Savers) Saves(worker int) bool {
	return !slices.ContainsFunc(s.before(worker), func(w int) bool { return s.leaving[w] != s.members[w].life })
}

// Others looks at the workers in the job that save before this one: goesOn reports whether any of them goes on, and
// departs whether any that was asked to end, or that saves a last time, has not ended yet and shows life.
func (s *Savers) Others(worker int, now time.Time) (goesOn, departs bool) {
	for _, w := range s.before(worker) {
		m := &s.members[w]
		ends := s.asked[w].ends || s.leaving[w] == m.life
		goesOn = goesOn || !ends
		departs = departs || ends && s.hope.hears(m, now)
	}
	return goesOn, departs
}

// before returns the workers in the job that save before this one.
func (s *Savers) before(worker int) (all []int) {
	late := s.members[worker].late
	for w := range s.members {
		if m := &s.members[w]; m.lives() && (m.late == late && w < worker || late && !m.late) {
			all = append(all, w)
		}
	}
	return all
}
