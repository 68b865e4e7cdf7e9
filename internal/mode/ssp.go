package mode

import "fmt"

// SSP is stale synchronous parallel training: every push is an update at once, and a worker may be ahead of the slowest
// by at most staleness steps; its next pull waits for that. With staleness 0 workers go in step, but each push is still
// an update of its own. Ho et al., "More Effective Distributed ML via a Stale Synchronous Parallel Parameter Server",
// NIPS 2013.
//
// A worker that has parked or left is not waited for. When all have parked, the next phase begins.
type SSP struct {
	staleness uint32
	phase     uint32
	workers   []pace
	one       [1]int
}

// pace is a worker's progress in the phase.
type pace struct {
	sent, applied uint32 // pushes
	state         memberState
}

// NewSSP returns the server's half for that many workers and that staleness, in steps.
func NewSSP(workers, staleness int) *SSP {
	return &SSP{staleness: uint32(staleness), workers: make([]pace, workers)}
}

// Push implements [Server].
func (s *SSP) Push(worker int, r Round) ([]int, error) {
	if err := s.check(worker, r, "push"); err != nil {
		return nil, err
	}
	s.workers[worker].sent++
	s.one[0] = worker
	return s.one[:], nil
}

// Park implements [Server].
func (s *SSP) Park(worker int, r Round) ([]int, error) {
	if err := s.check(worker, r, "park"); err != nil {
		return nil, err
	}
	s.workers[worker].state = parked
	s.turn()
	return nil, nil
}

// Leave implements [Server].
func (s *SSP) Leave(worker int, _ bool) []int {
	s.workers[worker].state = gone
	s.turn()
	return nil
}

func (s *SSP) check(worker int, r Round, what string) error {
	w := s.workers[worker]
	if want := At(s.phase, w.sent); w.state != due || r != want {
		return fmt.Errorf("mode: worker %d's %s for round %v, but it is %v and its round is %v: %w",
			worker, what, r, w.state, want, ErrStale)
	}
	return nil
}

// turn begins the next phase if no worker trains in this one and some worker waits for it.
func (s *SSP) turn() {
	waiting := false
	for _, w := range s.workers {
		if w.state == due {
			return
		}
		waiting = waiting || w.state == parked
	}
	if !waiting {
		return
	}
	s.phase++
	for i := range s.workers {
		if w := &s.workers[i]; w.state == parked {
			*w = pace{}
		}
	}
}

// Applied implements [Server].
func (s *SSP) Applied(workers []int) {
	for _, w := range workers {
		s.workers[w].applied++
	}
}

// Played implements [Server].
func (s *SSP) Played(workers []int, r Round) {
	for _, w := range workers {
		if p := &s.workers[w]; r.Phase() == s.phase && p.state == due {
			p.sent = max(p.sent, r.Index()+1)
			p.applied = p.sent
		}
	}
}

// State implements [Server].
func (s *SSP) State() State {
	now := State{Open: At(s.phase, 0)}
	for _, w := range s.workers {
		is := stateOf(w.state)
		is.Pushes = w.applied
		now.Workers = append(now.Workers, is)
	}
	return now
}

// Resume implements [Server].
func (s *SSP) Resume(then State) {
	s.phase = then.Open.Phase()
	for i, w := range then.Workers {
		s.workers[i] = pace{sent: w.Pushes, applied: w.Pushes, state: w.state()}
	}
}

// Reached implements [Server]: the slowest worker is at most the staleness behind r.
func (s *SSP) Reached(r Round) bool {
	if r.Phase() != s.phase {
		return r.Phase() < s.phase
	}
	for _, w := range s.workers {
		if w.state == due && uint64(w.applied)+uint64(s.staleness) < uint64(r.Index()) {
			return false
		}
	}
	return true
}

// Open implements [Server].
func (s *SSP) Open() Round { return At(s.phase, s.slowest()) }

func (s *SSP) slowest() uint32 {
	least, found := uint32(0), false
	for _, w := range s.workers {
		if w.state == due && (!found || w.applied < least) {
			least, found = w.applied, true
		}
	}
	return least
}

// Missing implements [Server].
func (s *SSP) Missing() (ws []int) {
	least := s.slowest()
	for i, w := range s.workers {
		if w.state == due && w.applied == least {
			ws = append(ws, i)
		}
	}
	return ws
}
