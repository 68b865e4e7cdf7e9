package mode

import (
	"errors"
	"fmt"
)

// Round is a position in the sequence of updates: phase<<32 | index. Rounds compare as numbers.
type Round uint64

// At returns the round of that index in that phase.
func At(phase, index uint32) Round { return Round(phase)<<32 | Round(index) }

// Phase returns how many epochs all workers have ended.
func (r Round) Phase() uint32 { return uint32(r >> 32) }

// Index returns the round's number within the phase.
func (r Round) Index() uint32 { return uint32(r) }

// NextPhase returns the first round of the phase after r's.
func (r Round) NextPhase() Round { return At(r.Phase()+1, 0) }

func (r Round) String() string { return fmt.Sprintf("%d.%d", r.Phase(), r.Index()) }

// Server is the server's half of a mode. Its methods are called one at a time.
type Server interface {
	// Push records a worker's gradient for round r, which must be reached. It returns the workers whose gradients,
	// recorded before and this one, now make one update, in the order to add them; none while the round waits.
	Push(worker int, r Round) (apply []int, err error)
	// Park records that a worker has no more batches in r's phase. It may close the round for the others.
	Park(worker int, r Round) (apply []int, err error)
	// Leave removes a worker for good: it has left, or died. With forget, its gradient for the open round is not used.
	Leave(worker int, forget bool) (apply []int)
	// Applied records that the update of these workers' gradients is in the tables.
	Applied(workers []int)
	// Reached reports whether every update that a pull for r must reflect is in the tables.
	Reached(r Round) bool
	// Open returns the round that is being filled, or that the slowest worker is in.
	Open() Round
	// Missing returns the workers that the others wait for.
	Missing() []int
	// Played records that an earlier process of this server has made the update of these workers' gradients for round
	// r.
	Played(workers []int, r Round)
	// State returns the state for a process that replaces this one, which begins with it by Resume, if no update is
	// under way. It does not contain a gradient that waits for its round: its worker has no answer, and sends it again.
	State() State
	Resume(State)
}

// Awaits describes what round r waits for, for log lines.
func Awaits(s Server, r Round) string {
	if bound, is := s.(*SSP); is && r.Phase() == bound.phase {
		return fmt.Sprintf("for the slowest: workers may be %d steps ahead of it, and no more", bound.staleness)
	}
	return fmt.Sprintf("for round %v (round %v is open)", r, s.Open())
}

// State is the state of a [Server] between updates.
type State struct {
	Open    Round         `json:"open,omitempty"`
	Workers []WorkerState `json:"workers,omitempty"`
}

// WorkerState is a [Server]'s state of a worker.
type WorkerState struct {
	Parked bool   `json:"parked,omitempty"`
	Gone   bool   `json:"gone,omitempty"`
	Pushes uint32 `json:"pushes,omitempty"` // in the phase, if the mode counts them
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

// ErrStale is the error of a push or park of a round that is over, or of a worker that has left.
var ErrStale = errors.New("round is over")

// Worker is the worker's half of a mode with rounds: the round that its next push belongs to.
type Worker struct{ round Round }

// Round returns the round of the worker's next push, which is also that of its next pull.
func (w *Worker) Round() Round { return w.round }

// Pushed goes to the next round after a push.
func (w *Worker) Pushed() { w.round++ }

// Parked goes to the next phase after a park.
func (w *Worker) Parked() { w.round = w.round.NextPhase() }

// Resume begins at a round that servers have reached.
func (w *Worker) Resume(r Round) { w.round = r }
