package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// ErrListen means that a server could not begin to listen.
var ErrListen = errors.New("can't listen")

// ErrReplaced means that another process has taken this server's place, with its journal: this one stood still for
// long, or runs on a machine from which the journal's disk was moved.
var ErrReplaced = wire.ErrReplaced

// ErrWorkersDied means that the job ended with fewer workers than it began with.
var ErrWorkersDied = errors.New("workers died")

// ErrDeserted means that workers which were asked to end, or killed, did not come back, and no other worker was left.
// It is an ErrWorkersDied; all roles may be started again, and the job then goes on.
var ErrDeserted = fmt.Errorf("%w, were expected back and did not come: %w", ErrWorkersDied, anew{})

// anew is an ErrWentBack with another text.
type anew struct{}

func (anew) Error() string        { return "start the job again" }
func (anew) Is(target error) bool { return target == ErrWentBack }

// ErrUnsaved means that a server was asked to end with updates that are in no checkpoint and no journal.
var ErrUnsaved = errors.New("what was trained is in no checkpoint and no journal")

// ErrMissing means that a role has not joined within StartTimeout.
var ErrMissing = wire.ErrMissing

// ErrWentBack means that the weights of a server are lost, so that no role can go on.
var ErrWentBack = wire.ErrWentBack

// Run serves until every worker has stopped or died, or ctx ends; in a job that saves checkpoints by itself, until one
// was saved after that.
//
// It closes from the inside out: first the watch for deaths, then every wait, with an error, then the listener, which
// gives answers some time to leave, and last the updates that were made beside their pushes. Then no goroutine of the
// server runs any more. It may be called once. It returns nil if the job was done; otherwise the error is one of the
// errors above, or ctx's cause.
func (s *Server) Run(ctx context.Context) error {
	asked := ctx
	defer s.endJournal()
	if err := s.recovery.claim(ctx); err != nil {
		return fmt.Errorf("server %d: %w", s.c.Index, err)
	}
	defer s.recovery.release()
	if err := s.segments.begun(); err != nil {
		return err
	}
	// before runs when ctx ends, while the server goes on serving.
	before := s.stopping.save
	if s.journal.On() && !s.lockstep() { // nothing is lost
		before = s.stopping.linger
	}
	ctx, release := s.stopping.outlast(ctx, before)
	defer release()
	l, err := s.listen(ctx)
	if err != nil {
		return fmt.Errorf("server %d %w: %w", s.c.Index, ErrListen, err)
	}
	s.log.Info("server listening", "endpoint", l.Endpoint())
	s.stay()
	defer s.presence.begin(asked)()
	s.leading.begin()
	served := make(chan error, 1)
	transport.HandleReads(l, s.outside.handle)
	go func() { served <- transport.ServeScreened(l, s.door.handle, s.door.screen) }()
	watchCtx, stopWatching := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { s.deaths.watch(watchCtx) })
	watching.Go(func() { s.servers.watch(watchCtx) })
	watching.Go(func() { s.growth.watch(watchCtx, leastJournal) })
	watching.Go(func() { s.moves(watchCtx) })

	if err = s.awaitEnd(ctx, served); errors.Is(err, ErrReplaced) {
		s.log.Error("another process has this server's place, with its journal: this one ends, and its answers don't " +
			"count")
	}
	// From here on nothing new begins: no death is declared, and no other server is asked whether it lives.
	s.presence.stands.Store(ends)
	stopWatching()
	watching.Wait()
	if err == nil {
		s.ended()
	}
	if !errors.Is(err, ErrReplaced) { // the other process says farewell
		err = errors.Join(err, s.unsaved(ctx))
		s.farewell(err)
	}
	s.st.Close()
	defer s.rounds.waiting.Wait()
	defer s.holding.under.Wait()
	defer s.leading.under.Wait()
	closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	return errors.Join(err, l.Close(closeCtx))
}

// ended notes beside the checkpoints that the job is over, so that a program that starts roles again finds nothing left
// to do.
func (s *Server) ended() {
	if err := s.recovery.series.End(); err != nil && !errors.Is(err, checkpoint.ErrNone) {
		s.log.Warn("could not record the end of the job in its checkpoint directory", "error", err)
	}
}

// stay makes a server that was started again after the end of its job wait without limit, for workers that go on or for
// its own end: if it ended, it would be started again and again. Probes then report that the job is over.
func (s *Server) stay() {
	newest, over := s.recovery.series.Ended()
	if !s.c.Stays || !over || s.st.Returned { // Returned: the job goes on
		return
	}
	s.log.Info("the job is over: this server waits to be ended, or for workers that go on from the last checkpoint",
		"checkpoint", newest)
	s.st.Lock()
	defer s.st.Unlock()
	s.deaths.hope.Stay()
	s.presence.idle.Store(true)
}

// lockstep reports that no worker goes on without the others: a worker that was started again can't catch up, so that
// all go back to the last checkpoint, though servers have kept what came after it.
func (s *Server) lockstep() bool { return mode.Of(s.c.Strategy.Mode).Lockstep }

// farewell announces that this server ends: to the other servers at once, and to workers, if the job can't go on, with
// their next requests, which they send at each heartbeat. It waits for workers at most one and a half heartbeats, in
// which each of them has sent one.
func (s *Server) farewell(err error) {
	s.st.Lock()
	if s.leavesJournal(err) {
		s.st.Unlock()
		s.log.Info("stopped; the others wait for this server to be started again", "for", s.c.Strategy.ServerTimeout())
		return
	}
	if err != nil && !s.st.Done() && s.st.Failure == nil {
		s.st.Fail(s.stopped())
	}
	failure := s.st.Failure
	s.st.Unlock()
	s.servers.farewell(failure)
	if failure == nil {
		s.servers.members.hearOut()
		return
	}
	beat := time.NewTimer(s.c.Strategy.HeartbeatInterval.Std() * 3 / 2)
	defer beat.Stop()
	s.st.Lock()
	defer s.st.Unlock()
	for over := false; s.st.Roster.Alive() && !over; {
		changed := s.st.Change()
		s.st.Unlock()
		select {
		case <-changed:
		case <-beat.C:
			over = true
		}
		s.st.Lock()
	}
}

// unsaved returns ErrUnsaved if the updates of a server that was asked to end in the middle of a job end with it. They
// are kept if the last checkpoint of all params is whole and nothing was applied after it, or if they are in a
// journal that the server comes back to. nil also means that there is nothing to lose: no worker has joined, or all
// have gone.
func (s *Server) unsaved(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	s.st.Lock()
	newest, at := s.holding.newest, s.holding.newestAt
	s.st.Unlock()
	saved := newest.ID != "" && newest.whole() == nil // the disk may be slow
	s.st.Lock()
	defer s.st.Unlock()
	whole := saved && at == s.part.Updates.Version() && s.st.Applying == 0
	kept := whole || s.st.Parting || s.journal.On() && (!s.lockstep() || s.awaited())
	switch {
	case !s.st.Roster.Begun() || s.st.Done() || kept:
		return nil
	case saved:
		return fmt.Errorf("since %s, from which the job can go on, %w", newest.Dir, ErrUnsaved)
	}
	return ErrUnsaved
}

// awaited reports whether workers in lockstep wait for this server to come back: they live, and were not asked to end
// too, which would make all go back to the last checkpoint. The caller holds the lock.
func (s *Server) awaited() bool {
	now := s.st.Now()
	return s.st.Failure == nil && s.st.Roster.Heard(now) && !s.st.Roster.Savers.Departing(now)
}

// leavesJournal reports whether a server that ends can be started again where it is. The caller holds the lock. Such a
// server says no farewell: to the others it is away, as after a kill.
func (s *Server) leavesJournal(err error) bool {
	return err != nil && s.journal.On() && s.st.Failure == nil && !s.st.Done()
}

// endJournal closes the journal of a server that has ended, and removes it if no process will come back to it.
func (s *Server) endJournal() {
	if !s.journal.On() {
		return
	}
	s.st.Lock()
	s.segments.void()
	s.st.Unlock()
	s.journal.Close()
}

// stopped is the failure of a job in which a server is stopped. The caller holds the lock. Its status makes the others
// go back if this server had weights of theirs.
func (s *Server) stopped() error {
	status, lost := wire.StatusFailed, ""
	if s.st.Roster.Begun() {
		status, lost = wire.StatusBack, ", and its weights are lost: start the job again from its last checkpoint"
	}
	if s.st.Parting {
		lost = ", after a checkpoint was saved: start the job again from its last checkpoint"
	}
	return wire.Refuse(status, "%s was stopped%s", s.servers.name(s.c.Index), lost)
}

// listen binds this server's endpoint, whose name has StartTimeout to resolve. It tries again until then while another
// process still has the endpoint.
func (s *Server) listen(ctx context.Context) (transport.Listener, error) {
	ctx, cancel := context.WithTimeout(ctx, s.c.Strategy.StartTimeout.Std())
	defer cancel()
	return peer.Listen(ctx, s.c.Transport, s.c.Endpoints[s.c.Index], s.log)
}

// closeGrace is how long Run waits for replies in flight when it closes. Handlers whose waits were ended by the close
// answer in that time.
const closeGrace = 5 * time.Second

// awaitEnd returns when the job is over, with the error that ended it. It checks the job whenever a change may have
// ended it. served delivers the listener's end, which is an error here.
func (s *Server) awaitEnd(ctx context.Context, served <-chan error) error {
	for {
		s.st.Lock()
		over, failure, ending := s.st.Done(), s.st.Failure, s.st.Ending
		deaths, deserted := s.st.Roster.Dead(), s.deaths.hope.Deserted()
		s.st.Unlock()
		switch {
		case failure != nil && len(deaths) > 0:
			return fmt.Errorf("server %d: the job ended without worker %v: %w: %w", s.c.Index, deaths, ErrWorkersDied,
				failure)
		case failure != nil:
			return fmt.Errorf("server %d: %w", s.c.Index, failure)
		case over && deserted:
			return fmt.Errorf("server %d: the job ended without worker %v for %v: %w", s.c.Index, deaths,
				s.c.Strategy.WorkersReturn(), ErrDeserted)
		case over && len(deaths) > 0:
			return fmt.Errorf("server %d: the job ended without worker %v, which fell silent or ended early: %w",
				s.c.Index, deaths, ErrWorkersDied)
		case over:
			s.log.Info("every worker has stopped")
			return nil
		}
		select {
		case <-ending:
		case <-s.st.Lives.Replaced:
			return fmt.Errorf("server %d: %w", s.c.Index, ErrReplaced)
		case <-ctx.Done():
			return fmt.Errorf("server %d: %w", s.c.Index, context.Cause(ctx))
		case err := <-served:
			return fmt.Errorf("server %d stopped listening: %w", s.c.Index, cmp.Or(err, transport.ErrReturned))
		}
	}
}

// Presence reports whether this server has its tables and listens, and what it waits for if it is not ready; waits is
// "" if it is ready. It takes the lock only if the job is over and workers may come.
func (s *Server) Presence() (began bool, waits string) {
	switch s.presence.stands.Load() {
	case absent:
		return false, "the server does not listen yet"
	case ends:
		return true, "the server is about to end"
	}
	if s.presence.idle.Load() {
		s.st.Lock()
		defer s.st.Unlock()
		if !s.st.Roster.Begun() {
			return true, "the job is over"
		}
	}
	return true, ""
}

// stuckAfter is the least time without progress after which the server counts as stuck.
const stuckAfter = 30 * time.Second

// moves takes the lock at each heartbeat until ctx ends, to show that it is free. If the lock is held for longer, the
// pulses report that this process is stuck.
func (s *Server) moves(ctx context.Context) {
	pulse := s.c.Pulses.Begin("nobody gets the server's lock", max(stuckAfter, 2*s.c.Strategy.WorkerTimeout.Std()))
	defer pulse.End()
	tick := time.NewTicker(s.c.Strategy.HeartbeatInterval.Std())
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.st.Lock()
		pulse.Beat()
		s.st.Unlock()
	}
}
