package server

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
)

// state is what all parts of a server share: the machines that decide, and the lock that guards them. What else the
// parts keep for themselves is guarded by the same lock, unless they say otherwise; a method whose comment says
// "locked" is called with it held.
//
// The machines do not know each other. Where one's event is another's message, as a worker's leaving is for the mode
// and the cut, the part that has the event passes it on, within one hold of the lock.
type state struct {
	monitor
	mode   mode.Server
	roster *roster.Roster
	clock  *awake.Clock // the roster's; deaths reads it at every tick
	// generation is nil until server 0 has said which it is. It needs no lock.
	generation atomic.Pointer[roster.Generation]
	follower   *cut.Follower // of cuts that server 0 leads
	leader     *cut.Leader   // nil on other servers
	applying   int           // updates being applied right now
	published  bool          // the dense weights are there
	loads      wire.Loads
	counted    [][]progress.Position // in the last checkpoint of all params that was loaded meanwhile
	returned   bool                  // this process has taken the place of another; it needs no lock
}

// options are what a state is made of.
type options struct {
	Servers int
	Roster  roster.Options
	Mode    mode.Server
	Clock   *awake.Clock
	// Wait bounds a wait, and Longest one for workers that compute.
	Wait, Longest time.Duration
	// Returns says that a server that ends comes back.
	Returns bool
	Log     *slog.Logger
	// End ends what updates wait for at other servers.
	End context.CancelFunc
}

// newState makes the machines of a server that no worker has joined.
func newState(o options) *state {
	st := &state{mode: o.Mode, roster: roster.New(o.Roster), clock: o.Clock, follower: new(cut.Follower)}
	if o.Roster.Server == 0 {
		st.leader = cut.NewLeader(o.Servers)
	}
	st.monitor = monitor{server: o.Roster.Server, limit: o.Wait, longest: o.Longest, log: o.Log, returns: o.Returns,
		computes: func(workers []int) bool { return st.roster.Computes(workers, st.now()) },
		over:     st.done, end: o.End, ending: make(chan struct{}), closing: make(chan struct{})}
	return st
}

// now is the time by the roster's clock.
func (st *state) now() time.Time { return st.clock.Now() }

// done says that every worker has gone and what they pushed is in the tables. Locked.
func (st *state) done() bool { return st.applying == 0 && st.roster.Over() }

// loadsOf are what a worker is told of loads. Locked.
func (st *state) loadsOf(worker uint32) wire.Loads {
	l := st.loads
	if l.Whole > 0 {
		l.Updates = uint64(st.mode.Open())
	}
	if len(st.counted) == st.roster.Workers() {
		l.Counted = st.counted[worker]
	} else {
		l.Steps = progress.MostSteps(st.counted)
	}
	return l
}

// sender checks that a request comes from the current life of a worker, and notes that it lives. Locked.
func (st *state) sender(f *wire.Frame) error { return st.roster.Sender(&f.Header, st.now()) }

// agreed says that nothing is known to be lacking here that was acknowledged: a server that has come back asks every
// worker that shows life before it takes part in a cut, which would keep what is left. Locked.
func (st *state) agreed() bool { return !st.returned || st.roster.Agree(st.now()) }

// enter lets a frame without gradients in once what it must reflect has been applied. What it then reads may be newer:
// updates go on beside it. A worker that trains in rounds sees none of them, since the next one needs its own gradient.
func (st *state) enter(f *wire.Frame) error {
	st.Lock()
	defer st.Unlock()
	if err := st.sender(f); err != nil {
		return err
	}
	if err := st.awaitPublished(); err != nil {
		return err
	}
	return st.awaitRound(mode.Round(f.Round))
}

// awaitTurn waits until a frame's sender may change the weights: they are published, the round of the frame is open to
// it, no cut leaves the step out, no death is being decided, and after all these waits it is still in the job. Locked.
//
// The cut is asked last of the waits, so that nothing is waited for between its word and the mode's: a cut that began
// meanwhile would have a step that it does not know of. Whether the sender stays is asked after them all, since a
// worker that died meanwhile was taken out of the round, and its gradient would come into one that goes on without it.
func (st *state) awaitTurn(f *wire.Frame) error {
	if err := st.awaitPublished(); err != nil {
		return err
	}
	if err := st.awaitRound(mode.Round(f.Round)); err != nil {
		return err
	}
	free := func() bool { return !st.holds(int(f.Worker), roster.Step(f.Life, f.Seq)) && !st.roster.Deciding() }
	if err := st.await(free, st.holder); err != nil {
		return err
	}
	return st.roster.Stays(&f.Header)
}

// holds says whether a worker's step must wait for a cut. Locked.
func (st *state) holds(worker int, step uint64) bool {
	return st.follower.Holds(worker, step)
}

// leads says whether a cut that this server leads as server 0 is under way, or held here for another one. Locked.
func (st *state) leads() bool {
	if st.leader != nil {
		if _, under := st.leader.Report(); under != 0 {
			return true
		}
	}
	return st.follower.Number() != 0
}

// holder describes what a push waits for that its round does not. Locked.
func (st *state) holder() string {
	if st.roster.Deciding() {
		return "for server 0 to take a dead worker out"
	}
	return fmt.Sprintf("for cut %d of all servers to end", st.follower.Number())
}

// awaitPublished waits for the first dense weights. Locked.
func (st *state) awaitPublished() error {
	return st.await(func() bool { return st.published }, func() string {
		return "for worker 0 to publish the " +
			"initial weights"
	})
}

// awaitRound waits until every update that r must reflect is in the tables. Locked.
func (st *state) awaitRound(r mode.Round) error {
	return st.awaitWorkers(st.mode.Missing, func() bool { return st.mode.Reached(r) },
		func() string { return st.missing(r) })
}

// missing describes whom round r waits for. Locked.
func (st *state) missing(r mode.Round) string {
	text := fmt.Sprintf("for round %v (round %v is open)", r, st.mode.Open())
	for _, w := range st.mode.Missing() {
		text += fmt.Sprintf("; missing %s", st.roster.Describe(w, st.now()))
	}
	return text
}

// awaitIdle waits until no update is being applied. Locked. An update reads the memory of the requests that pushed; one
// that fails has to stay until then. It has no bound of its own, since an update ends, or fails with what it waits for
// at other servers.
func (st *state) awaitIdle() {
	for st.applying > 0 {
		st.pass()
	}
}
