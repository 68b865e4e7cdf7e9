package state

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
)

// Job is the state that all parts of a server share: the state machines that take decisions, and the lock that guards
// them. The lock also guards the fields of the parts, unless their comments say otherwise.
//
// The state machines are independent of each other. If an event of one is an input of another, as the leaving of a
// worker is for the mode and the cut, the part with the event passes it on without releasing the lock.
type Job struct {
	monitor
	Mode       mode.Server
	Roster     *roster.Roster
	Clock      *awake.Clock // the roster's; the watch for deaths reads it at every tick
	generation atomic.Pointer[roster.Generation]
	Follower   *cut.Follower // for cuts that server 0 leads
	Leader     *cut.Leader   // nil on other servers
	Applying   int           // updates being applied
	Published  bool          // the dense weights are set
	Loads      wire.Loads
	// Remade counts how often rows were dropped or loaded, which changes them between two updates. It is odd while a
	// period is being ended, and needs no lock.
	Remade   atomic.Uint64
	Counted  [][]progress.Position // in the last checkpoint of all params that was loaded during the run
	Returned bool                  // this process has taken the place of another; it needs no lock
	Lives    *Lives                // it needs no lock
}

// Options configures a Job.
type Options struct {
	Servers int
	Roster  roster.Options
	Mode    mode.Server
	Clock   *awake.Clock
	// Wait bounds a wait, and Longest a wait for workers that compute.
	Wait, Longest time.Duration
	// Returns reports that a server that ends comes back.
	Returns bool
	Log     *slog.Logger
	// End ends the waits of updates for other servers.
	End context.CancelFunc
}

// New makes the state machines of a server that no worker has joined.
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

// Generation is the run of the job, nil until server 0 has announced it. It needs no lock.
func (st *Job) Generation() *roster.Generation { return st.generation.Load() }

// SetGeneration sets the run of the job, which all frames must prove from then on. It needs no lock.
func (st *Job) SetGeneration(g *roster.Generation) { st.generation.Store(g) }

// Now is the time by the roster's clock.
func (st *Job) Now() time.Time { return st.Clock.Now() }

// Done reports whether every worker is gone and all their pushes are in the tables. The caller holds the lock.
func (st *Job) Done() bool { return st.Applying == 0 && st.Roster.Hope.Over() }

// LoadsOf is what answers report to a worker about loads. The caller holds the lock.
func (st *Job) LoadsOf(worker uint32) wire.Loads {
	l := st.Loads
	if len(st.Counted) == st.Roster.Workers() {
		l.Counted = st.Counted[worker]
	} else {
		l.Steps = progress.MostSteps(st.Counted)
	}
	return l
}

// Sender checks that a request comes from the current life of a worker, and notes that the worker lives. The caller
// holds the lock.
func (st *Job) Sender(f *wire.Frame) error { return st.Roster.Sender(&f.Header, st.Now()) }

// Agreed reports that this server is not known to lack anything it acknowledged. A server that has come back compares
// with every worker that shows life before it takes part in a cut, which would save what is left. The caller holds the
// lock.
func (st *Job) Agreed() bool { return !st.Returned || st.Roster.Agree(st.Now()) }

// Enter lets a frame without gradients in once all updates that it must reflect have been applied. It may then read
// newer weights, since updates go on. A worker that trains in rounds sees none of those, since the next update needs
// its own gradient.
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
// it, no cut leaves the step out, no death is being decided, and after all these waits the sender is still in the job.
// The caller holds the lock.
//
// The cut is the last wait, so that there is no wait between its permission and the mode: a cut that began meanwhile
// would miss the step. The sender is checked after all waits: a worker that died meanwhile was taken out of the round,
// and its gradient would get into a round that goes on without it.
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

// Holds reports whether a worker's step must wait for a cut. The caller holds the lock.
func (st *Job) Holds(worker int, step uint64) bool {
	return st.Follower.Holds(worker, step)
}

// Leads reports whether a cut is under way that this server leads as server 0, or holds for another server. The caller
// holds the lock.
func (st *Job) Leads() bool {
	if st.Leader != nil {
		if _, under := st.Leader.Report(); under != 0 {
			return true
		}
	}
	return st.Follower.Number() != 0
}

// Holder describes what a push waits for besides its round. The caller holds the lock.
func (st *Job) Holder() string {
	if st.Roster.Deciding() {
		return "for server 0 to take a dead worker out"
	}
	return fmt.Sprintf("for cut %d of all servers to end", st.Follower.Number())
}

// awaitPublished waits for the first dense weights. The caller holds the lock.
func (st *Job) awaitPublished() error {
	return st.Await(func() bool { return st.Published }, func() string {
		return "for worker 0 to publish the " +
			"initial weights"
	})
}

// AwaitRound waits until every update that r must reflect is in the tables. The caller holds the lock.
func (st *Job) AwaitRound(r mode.Round) error {
	return st.AwaitWorkers(st.Mode.Missing, func() bool { return st.Mode.Reached(r) },
		func() string { return st.Missing(r) })
}

// Missing describes what round r waits for, and which workers. The caller holds the lock.
func (st *Job) Missing(r mode.Round) string {
	return mode.Awaits(st.Mode, r) + st.Named(st.Mode.Missing())
}

// Named is the end of a text that names missing workers, if there are any. The caller holds the lock.
func (st *Job) Named(workers []int) string {
	if len(workers) == 0 {
		return ""
	}
	return "; missing " + strings.Join(st.Roster.Describe(workers, st.Now()), "; missing ")
}

// AwaitIdle waits until no update is being applied. The caller holds the lock. An update reads the memory of the
// requests that pushed; a request that fails has to stay until then. The wait has no timeout: an update ends, or fails
// with its wait for other servers.
func (st *Job) AwaitIdle() {
	for st.Applying > 0 {
		st.Pass()
	}
}
