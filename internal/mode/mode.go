package mode

import (
	"errors"
	"fmt"
)

// Round is a place in the sequence of updates: phase<<32 | index. Rounds compare as numbers.
type Round uint64

// At is the round of that index in that phase.
func At(phase, index uint32) Round { return Round(phase)<<32 | Round(index) }

// Phase counts the epochs that all workers have ended.
func (r Round) Phase() uint32 { return uint32(r >> 32) }

// Index counts rounds within the phase.
func (r Round) Index() uint32 { return uint32(r) }

// NextPhase is the first round of the phase after r's.
func (r Round) NextPhase() Round { return At(r.Phase()+1, 0) }

func (r Round) String() string { return fmt.Sprintf("%d.%d", r.Phase(), r.Index()) }

// Server is a mode's half on a server. Its methods are called one at a time.
type Server interface {
	// Push takes note of a worker's gradient for round r, which must be reached. It returns the workers whose
	// gradients, noted before and this one, now make one update, in the order to fold them; none while the round
	// waits.
	Push(worker int, r Round) (apply []int, err error)
	// Park takes note that a worker has no more batches in r's phase. It may close the round for the others.
	Park(worker int, r Round) (apply []int, err error)
	// Leave takes a worker out for good: it has stopped, or died. With forget, its gradient for the open round is not
	// used.
	Leave(worker int, forget bool) (apply []int)
	// Applied says that the update of these workers' gradients is in the tables.
	Applied(workers []int)
	// Reached says whether every update that a pull for r must reflect is in the tables.
	Reached(r Round) bool
	// Open is the round that is being filled, or that the slowest worker is in.
	Open() Round
	// Missing are the workers that the others wait for.
	Missing() []int
	// Played says that the update of these workers' gradients for round r was made by the process whose place this one
	// takes.
	Played(workers []int, r Round)
	// State is what a process that takes this one's place begins with, by Resume, if no update is under way. A gradient
	// that waits for its round is not in it: its worker has no answer, and sends it again.
	State() State
	Resume(State)
}

// Awaits says what a round waits for, to a person.
func Awaits(s Server, r Round) string {
	if bound, is := s.(*SSP); is && r.Phase() == bound.phase {
		return fmt.Sprintf("for the slowest: workers may be %d steps ahead of it, and no more", bound.staleness)
	}
	return fmt.Sprintf("for round %v (round %v is open)", r, s.Open())
}

// State is that of a [Server] between updates.
type State struct {
	Open    Round         `json:"open,omitempty"`
	Workers []WorkerState `json:"workers,omitempty"`
}

// WorkerState is what a [Server] knows of a worker.
type WorkerState struct {
	Parked bool   `json:"parked,omitempty"`
	Gone   bool   `json:"gone,omitempty"`
	Pushes uint32 `json:"pushes,omitempty"` // in the phase, where the mode counts them
}

func (w WorkerState) state() memberState {
	switch {
	case w.Gone:
		return gone
	case w.Parked:
		return parked
	}
	return due
}

func stateOf(st memberState) WorkerState {
	return WorkerState{Parked: st == parked, Gone: st == gone || st == last}
}

// ErrStale says that a push or park belongs to a round that is over, or to a worker that has left.
var ErrStale = errors.New("round is over")

// Worker is a mode's half on a worker: which round its next push belongs to.
type Worker struct{ round Round }

// Round is where the worker's next push belongs, and what its next pull must reflect.
func (w *Worker) Round() Round { return w.round }

// Pushed moves on after a push.
func (w *Worker) Pushed() { w.round++ }

// Parked moves on after a park.
func (w *Worker) Parked() { w.round = w.round.NextPhase() }

// Resume begins at a round that servers have reached already.
func (w *Worker) Resume(r Round) { w.round = r }
