package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// servers keeps the servers of a job together: all are of one generation, and when one of them is lost, none goes on.
//
// Server 0 begins a generation. Each other server reports to it, with a random number of its process. Server 0 gives
// the key of the generation only after it has asked back, at the endpoint that workers know the server by, whether
// the process there has that number: so a stranger can't have the key. From then on the two ask each other at the pace
// of heartbeats whether they are still there and the same.
//
//	server 1                                  server 0
//	  report: process 77, fingerprint ────────>
//	                              <──────────── are you process 77?
//	  yes ────────────────────────────────────>
//	                              <──────────── the generation, and its key
//	  report: process 77  ────────────────────>    each heartbeat, either way
//
// A server that comes back with another number has lost its weights, and so has a server 0 whose generation is another.
// Then the job can't go on, which each server answers to every request until its farewell ends.
type servers struct {
	st       *state.Job
	peers    *state.Peers
	recovery *recovery
	members  *membership
	holding  *holding
	index    int
	*identity
	fingerprint layout.Fingerprint
	differences *differences
	pace        time.Duration // of heartbeats
	journal     *state.Journal
	generations state.Event[*roster.Generation]
	admits      state.Event[wire.Report] // a process, by server 0
	log         *slog.Logger
	// ended are the servers that have said so.
	ended []bool
}

// register has the servers of the job outlive a kill.
func (c *servers) register(m *state.Memory) {
	c.generations = state.AddEvent(m, "generation", c.st.Generation.Store)
	c.admits = state.AddEvent(m, "server", func(r wire.Report) { c.processes[r.Server] = r.Process })
}

// watch keeps in touch with server 0, or as server 0 with all others, until ctx ends.
func (c *servers) watch(ctx context.Context) {
	if c.index != 0 {
		c.beatTo(ctx, 0)
		return
	}
	var all sync.WaitGroup
	c.peers.Others(func(to int) { all.Go(func() { c.beatTo(ctx, to) }) })
	all.Wait()
}

// beatTo asks a server whether it is there until ctx ends, the server has said that it ends, or the job can't go on.
func (c *servers) beatTo(ctx context.Context, to int) {
	b := bond{servers: c, to: to, heard: c.st.Now()}
	for ctx.Err() == nil {
		met, over := c.known(to)
		if over {
			return
		}
		if pause, failure := b.beat(ctx, met); failure != nil {
			c.fail(c.peers.About(to, "", failure))
		} else if c.rest(ctx, pause) != nil {
			return
		}
	}
}

// rest fails when ctx ends before the pause is over.
func (c *servers) rest(ctx context.Context, pause time.Duration) error {
	t := time.NewTimer(pause)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// bond is what a server has seen of another.
type bond struct {
	*servers
	to     int
	heard  time.Time
	absent peer.Absence
}

// beat asks once, and says after which pause to ask again, or why the job can't go on. Two servers have met when one
// has the key, or on server 0 the other's process.
func (b *bond) beat(ctx context.Context, met bool) (pause time.Duration, failure error) {
	if !met && b.index == 0 { // the other is to report first
		b.heard, b.absent = b.st.Now(), peer.Absence{}
		return b.pace / 4, nil
	}
	err := b.report(ctx, b.to)
	refusal, refused := refusalOf(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, nil
	case err == nil:
		b.heard, b.absent = b.st.Now(), peer.Absence{}
	case refused && refusal.Status == wire.StatusBack, refused && met &&
		(refusal.Status == wire.StatusFailed || refusal.Status == wire.StatusMissing):
		return 0, refusal
	case !met && errors.Is(err, wire.ErrVersion):
		return 0, wire.Refuse(wire.StatusMismatch, "%s: %v", b.name(b.to), err)
	case !met:
		b.log.Debug("not known to server 0 yet", "error", err)
		return min(b.pace, introductionPause), nil
	case refused && refusal.Status == wire.StatusStale:
		return b.pace, b.replaced(b.to)
	case !refused:
		return b.missed(err)
	}
	return b.pace, nil
}

// missed says what follows when there was no answer: nothing listens where a process has ended, so that this is seen
// sooner than silence.
func (b *bond) missed(err error) (pause time.Duration, failure error) {
	now := b.st.Now()
	nobody, silent := b.absent.Note(err, now), now.Sub(b.heard)
	switch {
	case nobody && b.absent.Ended(now, b.endedAfter()):
		b.ends(b.to)
		return 0, wire.Refuse(wire.StatusBack,
			"%s has ended, nobody listens there any more, and its weights are lost: "+
				"start the job again from its last checkpoint", b.name(b.to))
	case silent > b.away() && silent <= b.peers.Away: // a server that was asked to end waits for none that is gone
		return 0, wire.Refuse(wire.StatusBack, "%s was silent for %v, and others were asked to end: start the job "+
			"again from its last checkpoint", b.name(b.to), silent.Round(time.Millisecond))
	case silent > b.peers.Away:
		return 0, wire.Refuse(wire.StatusFailed, "%s was silent for %v: %v", b.name(b.to),
			silent.Round(time.Millisecond), err)
	case nobody:
		return b.pace / 4, nil
	}
	return b.pace, nil
}

// away is how long a server may be silent: three heartbeats where the job is about to end.
func (b *bond) away() time.Duration {
	b.st.Lock()
	defer b.st.Unlock()
	if b.st.Roster.Hurried() {
		return min(3*b.pace, b.peers.Away)
	}
	return b.peers.Away
}

// introductionPause is the longest between attempts to become known to server 0, which workers wait for.
const introductionPause = 100 * time.Millisecond

// endedAfter is how long nothing listens at a server's endpoint before it has ended, where it does not come back.
const endedAfter = 2 * time.Second

// endedAfter is how long nothing listens there before the server has ended for good.
func (b *bond) endedAfter() time.Duration {
	if b.journal.ComesBack() {
		return b.peers.Away
	}
	return min(endedAfter, b.peers.Timeout/4)
}

func refusalOf(err error) (*wire.Refusal, bool) {
	var r *wire.Refusal
	return r, errors.As(err, &r)
}

// known says whether a server is of this one's generation, and whether there is nothing more to ask it.
func (c *servers) known(to int) (met, over bool) {
	c.st.Lock()
	defer c.st.Unlock()
	met = c.st.Generation.Load() != nil
	if c.index == 0 {
		met = c.processes[to] != 0
	}
	return met, c.ended[to] || c.st.Failure != nil
}

// report asks a server whether it is still there, and the same; one that server 0 does not know introduces itself.
func (c *servers) report(ctx context.Context, to int) error {
	msg, h := wire.Report{Server: c.index, Process: c.process}, wire.Header{Op: wire.OpReport}
	if c.index == 0 {
		c.st.Lock()
		msg = wire.Report{Server: to, Process: c.processes[to], Left: c.st.Roster.Left()}
		msg.Cuts[0], msg.Cuts[1] = c.st.Leader.Report()
		c.st.Unlock()
	}
	g := c.st.Generation.Load()
	if g == nil {
		h.Job, msg.Fingerprint = c.fingerprint.Sum(), c.fingerprint
	} else {
		h.Job = g.Servers()
	}
	var answer wire.Reported
	attempt, err := c.peers.Attempt(to, h, msg, &answer)
	if err == nil {
		_, err = attempt(ctx)
	}
	if err == nil && g == nil {
		err = c.begin(ctx, answer)
	}
	return err
}

// begin makes this server one of a generation, whose servers have all begun from the same.
func (c *servers) begin(ctx context.Context, answer wire.Reported) error {
	if answer.Key == 0 {
		return wire.Refuse(wire.StatusMismatch,
			"server 0 has said nothing of the run of the job that it began: do all roles run the same build?")
	}
	c.log.Debug("known to server 0", "run", fmt.Sprintf("%016x", answer.Generation))
	failure := c.recovery.follow(ctx, answer.From)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.st.Lock()
	defer c.st.Unlock()
	g := &roster.Generation{Number: answer.Generation, Key: answer.Key, Fingerprint: c.fingerprint.Sum()}
	c.generations.Note(g)
	c.st.Generation.Store(g)
	if failure != nil {
		c.st.Fail(failure)
	}
	c.st.Broadcast()
	return nil
}

// handle answers a server: one that introduces itself, server 0 that asks back, or a server of this generation.
func (c *servers) handle(f *wire.Frame, msg *wire.Report, r *state.Reply) error {
	if msg.Server < 0 || msg.Server >= len(c.processes) {
		return wire.Refuse(wire.StatusMismatch, "server %d: the job has %d servers", msg.Server, len(c.processes))
	}
	answer, err := wire.Reported{}, error(nil)
	switch g := c.st.Generation.Load(); {
	case g != nil && f.Job == g.Servers():
		answer.Whole, err = c.heard(msg)
	case c.index != 0:
		err = c.same(msg)
	case len(msg.Fingerprint) == 0 || msg.Server == 0:
		err = c.wentBack(0)
	default:
		answer, err = wire.Reported{Generation: g.Number, Key: g.Key, From: c.recovery.base}, c.introduce(msg)
	}
	if err != nil {
		return err
	}
	return r.JSON(answer)
}

// same says to server 0 whether this is the process that has reported to it.
func (c *servers) same(msg *wire.Report) error {
	if msg.Server != c.index || msg.Process != c.process {
		return wire.Refuse(wire.StatusStale, "server %d is another process", c.index)
	}
	return nil
}

// heard takes note of what a server of this generation says, and answers with how many checkpoints are whole.
func (c *servers) heard(msg *wire.Report) (whole int, err error) {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.says(msg); err != nil {
		return 0, err
	}
	if msg.Grown {
		c.recovery.want()
	}
	return c.recovery.answer(msg.Stops), nil
}

// says takes note of it. Locked.
func (c *servers) says(msg *wire.Report) error {
	switch {
	case msg.Ends:
		c.ended[msg.Server] = true
		if msg.Status != wire.StatusOK {
			c.st.Fail(c.peers.About(msg.Server, "", wire.Refuse(msg.Status, "%s", msg.Why)))
		}
		c.members.left(msg.Left)
		return nil
	case c.index != 0:
		if err := c.same(msg); err != nil {
			return err
		}
		c.members.left(msg.Left)
		c.st.Follower.Report(msg.Cuts[0], msg.Cuts[1])
		c.holding.tidy()
		c.st.Broadcast()
	case c.processes[msg.Server] != msg.Process:
		return wire.Refuse(wire.StatusStale, "server %d is another process", msg.Server)
	}
	return c.st.Failure
}

// introduce admits a server's process to the generation, when it is what listens at the server's endpoint. The process
// before it, if there was one, took its weights along.
func (c *servers) introduce(msg *wire.Report) error {
	if err := c.differences.refusal("server 0", msg.Fingerprint, fmt.Sprintf("server %d", msg.Server)); err != nil {
		return err
	}
	if err := c.askBack(msg); err != nil {
		return err
	}
	c.st.Lock()
	defer c.st.Unlock()
	before := c.processes[msg.Server]
	switch {
	case before == msg.Process:
		return c.st.Failure
	case c.st.Failure != nil:
		return wire.Refuse(wire.StatusNotReady, "server 0 is about to end: %v", c.st.Failure)
	case before != 0 && c.st.Roster.Begun():
		c.processes[msg.Server] = msg.Process // it is told as the others are
		c.st.Fail(c.peers.About(msg.Server, "", c.wentBack(msg.Server)))
		return c.st.Failure
	}
	c.processes[msg.Server] = msg.Process
	c.admits.Note(wire.Report{Server: msg.Server, Process: msg.Process})
	return nil
}

// askBack asks the endpoint of a server whether the process there is the one that reports.
func (c *servers) askBack(msg *wire.Report) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.peers.Timeout/10)
	defer cancel()
	h := wire.Header{Op: wire.OpReport, Job: c.fingerprint.Sum()}
	attempt, err := c.peers.Attempt(msg.Server, h, wire.Report{Server: msg.Server, Process: msg.Process},
		new(wire.Reported))
	if err == nil {
		_, err = attempt(ctx)
	}
	if err != nil {
		return wire.Refuse(wire.StatusNotReady, "server 0 has asked %s whether it has reported: %v", c.name(msg.Server),
			err)
	}
	return nil
}

// wentBack is what is said when a server was started again.
func (c *servers) wentBack(server int) error {
	return wire.Refuse(wire.StatusBack,
		"%s was started again and has lost its weights: start the job again from its last checkpoint", c.name(server))
}

// fail ends the job, for what a server has said or has not said.
func (c *servers) fail(err error) {
	c.st.Lock()
	defer c.st.Unlock()
	c.st.Fail(err)
}

// ends takes note that a server has ended.
func (c *servers) ends(server int) {
	c.st.Lock()
	defer c.st.Unlock()
	c.ended[server] = true
}

// replaced is what follows when another process has a server's place: its weights are lost. Before any worker has
// joined there are none, and server 0 waits for the process to report.
func (c *servers) replaced(server int) error {
	c.st.Lock()
	defer c.st.Unlock()
	switch {
	case c.index != 0:
		return wire.Refuse(wire.StatusBack,
			"another process has the place of %s: start the job again from its last checkpoint", c.name(c.index))
	case c.st.Roster.Begun():
		return c.wentBack(server)
	}
	c.processes[server] = 0
	return nil
}

func (c *servers) name(server int) string {
	return fmt.Sprintf("server %d (%s)", server, c.peers.Endpoints[server])
}

// farewell tells the other servers that this one ends, and why if the job can't go on.
func (c *servers) farewell(failure error) {
	g := c.st.Generation.Load()
	if g == nil {
		return
	}
	c.st.Lock()
	msg := wire.Report{Server: c.index, Process: c.process, Ends: true, Left: c.st.Roster.Left()}
	c.st.Unlock()
	if failure != nil {
		msg.Status, msg.Why = wire.StatusFailed, failure.Error()
		if r, ok := refusalOf(failure); ok {
			msg.Status, msg.Why = r.Status, r.Text
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(3*c.pace, c.peers.Timeout/4))
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	c.peers.Others(func(to int) {
		attempt, err := c.peers.Attempt(to, wire.Header{Op: wire.OpReport, Job: g.Servers()}, msg, new(wire.Reported))
		if err == nil {
			all.Go(func() { c.part(ctx, to, attempt) })
		}
	})
}

// part repeats the last word to a server until that has it, or needs it no more since it has ended too. Without it the
// other would take an end for a death.
func (c *servers) part(ctx context.Context, to int, attempt func(context.Context) (bool, error)) {
	var absent peer.Absence
	_ = peer.Repeat(ctx, state.Pauses, func() (peer.Verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, c.pace/2)
		defer cancel()
		answered, err := attempt(ctx)
		c.st.Lock()
		ended := c.ended[to] // it may have said so meanwhile
		c.st.Unlock()
		if now := c.st.Now(); ended || answered || absent.Note(err, now) && absent.Ended(now, c.pace/2) {
			return peer.Done, err
		}
		return peer.Pause, err
	})
}

// tell makes a report to server 0, once, and says how many checkpoints that has had saved for servers that stop.
func (c *servers) tell(ctx context.Context, msg wire.Report) (whole int, err error) {
	g := c.st.Generation.Load()
	if g == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.peers.Timeout/10)
	defer cancel()
	var answer wire.Reported
	msg.Server, msg.Process = c.index, c.process
	attempt, err := c.peers.Attempt(0, wire.Header{Op: wire.OpReport, Job: g.Servers()}, msg, &answer)
	if err == nil {
		_, err = attempt(ctx)
	}
	return answer.Whole, err
}
