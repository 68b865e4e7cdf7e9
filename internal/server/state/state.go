package state

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

// Job is what all parts of a server share: the machines that decide, and the lock that guards them. What else the
// parts keep for themselves is guarded by the same lock, unless they say otherwise; a method whose comment says
// "locked" is called with it held.
//
// The machines do not know each other. Where one's event is another's message, as a worker's leaving is for the mode
// and the cut, the part that has the event passes it on, within one hold of the lock.
type Job struct {
	monitor
	Mode       mode.Server
	Roster     *roster.Roster
	Clock      *awake.Clock // the roster's; deaths reads it at every tick
	generation atomic.Pointer[roster.Generation]
	Follower   *cut.Follower // of cuts that server 0 leads
	Leader     *cut.Leader   // nil on other servers
	Applying   int           // updates being applied right now
	Published  bool          // the dense weights are there
	Loads      wire.Loads
	Counted    [][]progress.Position // in the last checkpoint of all params that was loaded meanwhile
	Returned   bool                  // this process has taken the place of another; it needs no lock
	Lives      *Lives                // it needs no lock
}

// Options are what a state is made of.
type Options struct {
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

// New makes the machines of a server that no worker has joined.
func New(o Options) *Job {
	st := &Job{Mode: o.Mode, Roster: roster.New(o.Roster), Clock: o.Clock, Follower: new(cut.Follower),
		Lives: newLives(o.Servers)}
	if o.Roster.Server == 0 {
		st.Leader = cut.NewLeader(o.Servers)
	}
	st.monitor = monitor{server: o.Roster.Server, Limit: o.Wait, longest: o.Longest, log: o.Log, returns: o.Returns,
		computes: func(workers []int) bool { return st.Roster.Computes(workers, st.Now()) },
		over:     st.Done, End: o.End, Ending: make(chan struct{}), closing: make(chan struct{})}
	return st
}

// Generation is the job's, nil until server 0 has said which it is. It needs no lock.
func (st *Job) Generation() *roster.Generation { return st.generation.Load() }

// SetGeneration has all frames prove that they are of a generation. It needs no lock.
func (st *Job) SetGeneration(g *roster.Generation) { st.generation.Store(g) }

// Now is the time by the roster's clock.
func (st *Job) Now() time.Time { return st.Clock.Now() }

// Done says that every worker has gone and what they pushed is in the tables. Locked.
func (st *Job) Done() bool { return st.Applying == 0 && st.Roster.Hope.Over() }

// LoadsOf are what a worker is told of loads. Locked.
func (st *Job) LoadsOf(worker uint32) wire.Loads {
	l := st.Loads
	if len(st.Counted) == st.Roster.Workers() {
		l.Counted = st.Counted[worker]
	} else {
		l.Steps = progress.MostSteps(st.Counted)
	}
	return l
}

// Sender checks that a request comes from the current life of a worker, and notes that it lives. Locked.
func (st *Job) Sender(f *wire.Frame) error { return st.Roster.Sender(&f.Header, st.Now()) }

// Agreed says that nothing is known to be lacking here that was acknowledged: a server that has come back asks every
// worker that shows life before it takes part in a cut, which would keep what is left. Locked.
func (st *Job) Agreed() bool { return !st.Returned || st.Roster.Agree(st.Now()) }

// Enter lets a frame without gradients in once what it must reflect has been applied. What it then reads may be newer:
// updates go on beside it. A worker that trains in rounds sees none of them, since the next one needs its own gradient.
func (st *Job) Enter(f *wire.Frame) error {
	st.Lock()
	defer st.Unlock()
	if err := st.Sender(f); err != nil {
		return err
	}
	if err := st.awaitPublished(); err != nil {
		return err
	}
	return st.AwaitRound(mode.Round(f.Round))
}

// AwaitTurn waits until a frame's sender may change the weights: they are published, the round of the frame is open to
// it, no cut leaves the step out, no death is being decided, and after all these waits it is still in the job. Locked.
//
// The cut is asked last of the waits, so that nothing is waited for between its word and the mode's: a cut that began
// meanwhile would have a step that it does not know of. Whether the sender stays is asked after them all, since a
// worker that died meanwhile was taken out of the round, and its gradient would come into one that goes on without it.
func (st *Job) AwaitTurn(f *wire.Frame) error {
	if err := st.awaitPublished(); err != nil {
		return err
	}
	if err := st.AwaitRound(mode.Round(f.Round)); err != nil {
		return err
	}
	free := func() bool { return !st.Holds(int(f.Worker), roster.Step(f.Life, f.Seq)) && !st.Roster.Deciding() }
	if err := st.Await(free, st.Holder); err != nil {
		return err
	}
	return st.Roster.Stays(&f.Header)
}

// Holds says whether a worker's step must wait for a cut. Locked.
func (st *Job) Holds(worker int, step uint64) bool {
	return st.Follower.Holds(worker, step)
}

// Leads says whether a cut that this server leads as server 0 is under way, or held here for another one. Locked.
func (st *Job) Leads() bool {
	if st.Leader != nil {
		if _, under := st.Leader.Report(); under != 0 {
			return true
		}
	}
	return st.Follower.Number() != 0
}

// Holder describes what a push waits for that its round does not. Locked.
func (st *Job) Holder() string {
	if st.Roster.Deciding() {
		return "for server 0 to take a dead worker out"
	}
	return fmt.Sprintf("for cut %d of all servers to end", st.Follower.Number())
}

// awaitPublished waits for the first dense weights. Locked.
func (st *Job) awaitPublished() error {
	return st.Await(func() bool { return st.Published }, func() string {
		return "for worker 0 to publish the " +
			"initial weights"
	})
}

// AwaitRound waits until every update that r must reflect is in the tables. Locked.
func (st *Job) AwaitRound(r mode.Round) error {
	return st.AwaitWorkers(st.Mode.Missing, func() bool { return st.Mode.Reached(r) },
		func() string { return st.Missing(r) })
}

// Missing describes what round r waits for, and whom. Locked.
func (st *Job) Missing(r mode.Round) string {
	text := mode.Awaits(st.Mode, r)
	for _, w := range st.Mode.Missing() {
		text += fmt.Sprintf("; missing %s", st.Roster.Describe(w, st.Now()))
	}
	return text
}

// AwaitIdle waits until no update is being applied. Locked. An update reads the memory of the requests that pushed; one
// that fails has to stay until then. It has no bound of its own, since an update ends, or fails with what it waits for
// at other servers.
func (st *Job) AwaitIdle() {
	for st.Applying > 0 {
		st.Pass()
	}
}
