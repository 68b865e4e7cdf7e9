package mode

import "fmt"

// Sync is synchronous training. A round closes when every worker has either pushed its gradient, parked (it has no more
// batches in this phase) or left; then the gradients become one update. The first round needs every configured worker,
// whether it has joined or not. When no worker is left to push in a phase, the next phase begins with the parked
// workers.
//
// Every worker sends its pushes and parks to every server in the same order, so that servers agree on every round
// without messages between them.
type Sync struct {
	open    Round
	applied Round // all updates before this round are in the tables
	pending int   // updates that are being applied
	state   []memberState
	applies []int
}

type memberState uint8

const (
	due    memberState = iota // the open round waits for it
	pushed                    // its gradient is recorded
	last                      // its gradient is recorded; it is gone once that is applied
	parked                    // back in the next phase
	gone
)

// NewSync returns the server's half for a job of that many workers.
func NewSync(workers int) *Sync {
	return &Sync{state: make([]memberState, workers), applies: make([]int, 0, workers)}
}

// Push implements [Server].
func (s *Sync) Push(worker int, r Round) ([]int, error) {
	if err := s.contribute(worker, r, "push"); err != nil {
		return nil, err
	}
	s.state[worker] = pushed
	return s.close(), nil
}

// Park implements [Server].
func (s *Sync) Park(worker int, r Round) ([]int, error) {
	if err := s.contribute(worker, r, "park"); err != nil {
		return nil, err
	}
	s.state[worker] = parked
	return s.close(), nil
}

// Leave implements [Server].
func (s *Sync) Leave(worker int, forget bool) []int {
	switch {
	case s.state[worker] == gone:
		return nil
	case s.state[worker] == pushed && !forget:
		s.state[worker] = last
	default:
		s.state[worker] = gone
	}
	return s.close()
}

// Applied implements [Server].
func (s *Sync) Applied([]int) {
	s.pending--
	s.settle()
}

// settle records that all updates are in the tables, if none is pending.
func (s *Sync) settle() {
	if s.pending == 0 {
		s.applied = s.open
	}
}

// Reached implements [Server].
func (s *Sync) Reached(r Round) bool { return s.applied >= r }

// Open implements [Server].
func (s *Sync) Open() Round { return s.open }

// Missing implements [Server].
func (s *Sync) Missing() []int {
	var m []int
	for w, st := range s.state {
		if st == due {
			m = append(m, w)
		}
	}
	return m
}

// Played implements [Server].
func (s *Sync) Played(_ []int, r Round) {
	s.open = max(s.open, r+1)
	s.settle()
}

// State implements [Server].
func (s *Sync) State() State {
	now := State{Open: s.open}
	for _, st := range s.state {
		now.Workers = append(now.Workers, stateOf(st))
	}
	return now
}

// Resume implements [Server].
func (s *Sync) Resume(then State) {
	s.open, s.applied = then.Open, then.Open
	for w := range s.state {
		s.state[w] = then.Workers[w].state()
	}
}

func (s *Sync) contribute(worker int, r Round, what string) error {
	if st := s.state[worker]; r != s.open || st != due {
		return fmt.Errorf("mode: worker %d's %s for round %v, but round %v is open and it is %v: %w", worker, what, r,
			s.open, st, ErrStale)
	}
	return nil
}

// close closes the round if no worker is missing, and returns the workers whose gradients make its update.
func (s *Sync) close() []int {
	s.applies = s.applies[:0]
	for w, st := range s.state {
		switch st {
		case due:
			return nil
		case pushed, last:
			s.applies = append(s.applies, w)
		}
	}
	if len(s.applies) > 0 {
		s.open++
		s.pending++
		s.turn(pushed, due)
		s.turn(last, gone)
	} else {
		s.open = s.open.NextPhase()
		s.turn(parked, due)
		s.settle()
	}
	return s.applies
}

func (s *Sync) turn(from, to memberState) {
	for w, st := range s.state {
		if st == from {
			s.state[w] = to
		}
	}
}

func (st memberState) String() string {
	return [...]string{"due", "pushed", "leaving", "parked", "gone"}[st]
}
