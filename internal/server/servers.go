package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// servers keeps the servers of a job together: all belong to one generation, and if one of them is lost, none goes on.
//
// Server 0 begins a generation. Each other server reports to it, with a random number of its process. Server 0 sends
// the key of the generation only after it has asked back, at the server's configured endpoint, whether the process
// there has that number: so no stranger can get the key. From then on the two ask each other at each heartbeat whether
// they are still there and the same.
//
//	server 1                                  server 0
//	  report: process 77, fingerprint ────────>
//	                              <──────────── are you process 77?
//	  yes ────────────────────────────────────>
//	                              <──────────── the generation, and its key
//	  report: process 77  ────────────────────>    each heartbeat, either way
//
// A server that comes back with another number has lost its weights, and so has a server 0 that comes back with another
// generation. Then the job can't go on, and each server answers every request so until its farewell ends.
type servers struct {
	st        *state.Job
	peers     *state.Peers
	following *following
	room      *room
	// Reports of server 0 are passed on: to members, which workers have stopped; to holding, which cut is over.
	members *membership
	holding *holding
	// index is this server's. Of identity, process does not change once the server serves, and processes is guarded by
	// the lock.
	index int
	*identity
	fingerprint layout.Fingerprint
	differences *differences
	// pace is also the interval of reports between servers.
	pace        time.Duration // interval of heartbeats
	journal     *state.Journal
	generations state.Event[*roster.Generation]
	admits      state.Event[wire.Report] // a process that server 0 admits
	log         *slog.Logger
	// ended records the servers that have announced their end. It is guarded by the lock.
	ended []bool
}

// register makes the processes of the other servers survive a kill.
func (c *servers) register(m *state.Memory) {
	c.generations = state.AddEvent(m, "generation", c.st.SetGeneration)
	c.admits = state.AddEvent(m, "server", func(r wire.Report) { c.processes[r.Server] = r.Process })
}

// known reports whether a server belongs to this one's generation, and whether it need not be asked any more. Both
// change under the lock, so that the result may be outdated when it is used.
func (c *servers) known(to int) (met, over bool) {
	c.st.Lock()
	defer c.st.Unlock()
	met = c.st.Generation() != nil
	if c.index == 0 {
		met = c.processes[to] != 0
	}
	return met, c.ended[to] || c.st.Failure != nil
}

// report asks a server whether it is still there, and the same; a server that server 0 does not know introduces itself.
// nil means that it has answered, and that this server knows the generation.
func (c *servers) report(ctx context.Context, to int) error {
	msg := wire.Report{Server: c.index, Process: c.process, Full: c.room.store.Pressed()}
	h := wire.Header{Op: wire.OpReport}
	if c.index == 0 {
		c.st.Lock()
		msg = wire.Report{Server: to, Process: c.processes[to], Left: c.st.Roster.Left()}
		msg.Cuts[0], msg.Cuts[1] = c.st.Leader.Report()
		c.st.Unlock()
	}
	g := c.st.Generation()
	if g == nil {
		h.Job, msg.Fingerprint, msg.Build = c.fingerprint.Sum(), c.fingerprint, wire.Build()
	} else {
		h.Job = g.Servers()
	}
	var answer wire.Reported
	attempt, err := c.peers.Attempt(to, h, msg, &answer)
	if err == nil {
		_, err = attempt(ctx)
	}
	if err == nil && g == nil {
		err = c.join(ctx, answer)
	}
	return err
}

// first is the life of server 0, as far as this server has seen it.
func (c *servers) first() uint32 { return c.st.Lives.Of(0).Known() }

// join makes this server one of a generation, whose servers have all begun from the same checkpoint. From then on
// workers are let in. A failure to begin from that checkpoint ends the job for all.
func (c *servers) join(ctx context.Context, answer wire.Reported) error {
	if answer.Key == 0 {
		return wire.Refuse(wire.StatusMismatch,
			"server 0 has said nothing of the run of the job that it began: do all roles run the same build?")
	}
	c.log.Debug("known to server 0", "run", fmt.Sprintf("%016x", answer.Generation))
	failure := c.following.follow(ctx, answer.From)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.st.Lock()
	defer c.st.Unlock()
	g := &roster.Generation{Number: answer.Generation, Key: answer.Key, Fingerprint: c.fingerprint.Sum()}
	c.generations.Note(g)
	c.st.SetGeneration(g)
	if failure != nil {
		c.st.Fail(failure)
	}
	c.st.Broadcast()
	return nil
}

// handle answers a server: one that introduces itself, server 0 that asks back, or a server of this generation. The
// frame's job decides which of the three it is.
func (c *servers) handle(f *wire.Frame, msg *wire.Report, r *state.Reply) error {
	if msg.Server < 0 || msg.Server >= len(c.processes) {
		return wire.Refuse(wire.StatusMismatch, "server %d: the job has %d servers", msg.Server, len(c.processes))
	}
	answer, err := wire.Reported{}, error(nil)
	switch g := c.st.Generation(); {
	case g != nil && f.Job == g.Servers():
		answer.Whole, err = c.heard(msg)
	case c.index != 0:
		err = c.same(msg)
	case len(msg.Fingerprint) == 0 || msg.Server == 0:
		err = c.wentBack(0)
	default:
		answer, err = wire.Reported{Generation: g.Number, Key: g.Key, From: c.following.base}, c.introduce(msg)
	}
	if err != nil {
		return err
	}
	return r.JSON(answer)
}

// same answers server 0 whether this process is the one that reported to it.
func (c *servers) same(msg *wire.Report) error {
	if msg.Server != c.index || msg.Process != c.process {
		return wire.Refuse(wire.StatusStale, "server %d is another process", c.index)
	}
	return nil
}

// heard handles a report of a server of this generation, and returns how many checkpoints are whole. The report must
// come from the process that was admitted.
func (c *servers) heard(msg *wire.Report) (whole int, err error) {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.says(msg); err != nil {
		return 0, err
	}
	c.room.heard(msg)
	return c.wished(msg), nil
}

// wished requests a checkpoint if a report wants one, and returns how many were saved. The caller holds the lock.
func (c *servers) wished(msg *wire.Report) (whole int) {
	if msg.Grown {
		c.following.want()
	}
	return c.following.answer(msg.Stops)
}

// says stores the content of a report. The caller holds the lock. An error is the answer to the sender: it is another
// process, or the job has failed. The two numbers of cuts in a report of server 0 are its lease on the hold of this
// server: a cut that is over is no longer held.
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

// introduce admits a server's process to the generation, if it is the one that listens at the server's endpoint. A
// process before it has taken its weights along. introduce asks back without the lock.
func (c *servers) introduce(msg *wire.Report) error {
	sender := fmt.Sprintf("server %d", msg.Server)
	if err := c.differences.refusal("server 0", msg.Fingerprint, sender, msg.Build); err != nil {
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
		c.processes[msg.Server] = msg.Process // it gets the answer that the others get
		c.st.Fail(c.peers.About(msg.Server, "", c.wentBack(msg.Server)))
		return c.st.Failure
	}
	c.processes[msg.Server] = msg.Process
	c.st.Lives.Of(msg.Server).Forget()
	c.admits.Note(wire.Report{Server: msg.Server, Process: msg.Process})
	return nil
}

// askBack asks the endpoint of a server whether the process there is the one that reports. The endpoint is the
// configured one, so that a process elsewhere can't pass for a server.
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

// wentBack is the refusal after a server was started again.
func (c *servers) wentBack(server int) error {
	return wire.Refuse(wire.StatusBack,
		"%s was started again and has lost its weights: start the job again from its last checkpoint", c.name(server))
}

// fail ends the job with an error that concerns a server. A *peer.Error in it names that server.
func (c *servers) fail(err error) {
	c.st.Lock()
	defer c.st.Unlock()
	c.st.Fail(err)
}

// ends notes that a server has ended.
func (c *servers) ends(server int) {
	c.st.Lock()
	defer c.st.Unlock()
	c.ended[server] = true
}

// replaced handles another process in a server's place: the server's weights are lost. Before any worker has joined
// there are none, and server 0 waits for the process to report. An error ends the job.
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
	c.st.Lives.Of(server).Forget()
	return nil
}

// name is a server with its endpoint, for a person.
func (c *servers) name(server int) string {
	return fmt.Sprintf("server %d (%s)", server, c.peers.Endpoints[server])
}
