package server

import (
	"context"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// stopping saves a checkpoint before a server that was asked to end does so, in a job that saves checkpoints, since its
// weights end with it.
//
//	server 1                      server 0                           the lowest worker
//	  report: stops ──────────────> wanted
//	                                answer to a heartbeat: save ─────>
//	                                          <───────────── freeze, save, commit
//	  report ─────────────────────>
//	        <────────────────────── one more has become whole
//
// Server 0 does the same for itself. The server goes on serving until then, as long as there is a worker to save; and
// if workers end too, since all roles were asked to, until all have ended, each of which saves.
type stopping struct {
	st     *state.Job
	savers *roster.Savers
	// servers ask server 0 how many checkpoints were saved, and request one with the same report.
	servers  *servers
	recovery *recovery
}

// stopGrace is how long a server that was asked to end goes on serving for a checkpoint.
const stopGrace = time.Minute

// outlast returns a context that ends when ctx has ended and before has returned after that. before runs on its own
// goroutine, with the longer context. release ends that context and waits until before has returned.
func (c *stopping) outlast(ctx context.Context, before func(context.Context)) (longer context.Context,
	release func()) {
	longer, end := context.WithCancelCause(context.WithoutCancel(ctx))
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(over)
		before(longer)
		end(context.Cause(ctx))
	})
	return longer, func() {
		end(context.Canceled)
		if !stop() {
			<-over
		}
	}
}

// save returns when a checkpoint was saved since its call, or none will be. If server 0 has a journal, it may die
// meanwhile and come back, and has then lost the request: save sends it again. It asks again after each rest, until
// stopGrace is over.
func (c *stopping) save(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	const unasked = -1
	var err error
	before, whole, life := unasked, unasked, c.servers.first()
	for more := true; more; {
		if now := c.servers.first(); now != life {
			before, whole, life = unasked, unasked, now
		}
		var n int
		if n, err = c.servers.send(ctx, wire.Report{Stops: before == unasked}); err == nil {
			if whole = n; before == unasked {
				before = n
			}
		}
		more = whole <= before && (err == nil || c.recovery.journal.ComesBack()) && c.hopes()
		if more && c.rest(ctx) != nil {
			err, more = context.Cause(ctx), false
		}
	}
	switch {
	case err == nil && whole > before:
		c.accompany(ctx)
	case err != nil && c.hopes(): // else the job has ended, as other messages say
		c.servers.log.Warn("this server ends before a checkpoint is whole", "error", err)
	}
}

// accompany returns when no save is under way and workers that were asked to end too have ended: their saves are not
// cut off, and none of them takes the end of this server for a loss. It waits for one heartbeat, in which they come to
// the end of a step, and for three once a worker has ended. It sets Parting: the end of the job is then no failure in
// this server's log.
func (c *stopping) accompany(ctx context.Context) {
	c.st.Lock()
	c.st.Parting = true
	c.st.Unlock()
	for began := c.st.Now(); c.rest(ctx) == nil; {
		whole, err := c.servers.send(ctx, wire.Report{})
		if err != nil || !c.awaits(c.st.Now().Sub(began)) && whole > 0 {
			return
		}
	}
}

// linger is for a server with a journal, which has everything that was answered. If workers are asked to end too,
// within three heartbeats, they save a checkpoint as they end, and need the server for it.
func (c *stopping) linger(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	for began := c.st.Now(); c.leavers(c.st.Now().Sub(began)) && c.rest(ctx) == nil; {
	}
}

// leavers reports whether workers may still save as they end; since is the time since this server was asked to end.
func (c *stopping) leavers(since time.Duration) bool {
	c.st.Lock()
	defer c.st.Unlock()
	if c.st.Failure != nil || !c.st.Roster.Alive() {
		return false
	}
	return since < 3*c.servers.pace || c.st.Leads() || c.savers.Departing(c.st.Now())
}

// awaits reports whether workers may still end; since is the time since this server was asked to.
func (c *stopping) awaits(since time.Duration) bool {
	c.st.Lock()
	defer c.st.Unlock()
	if c.st.Failure != nil || !c.st.Roster.Alive() {
		return false
	}
	return since < c.servers.pace || since < 3*c.servers.pace && c.st.Roster.Ended(c.st.Roster.Workers())
}

// rest is the pause between two requests.
func (c *stopping) rest(ctx context.Context) error {
	return awake.Rest(ctx, min(c.servers.pace/4, introductionPause))
}

// hopes reports whether there is something to save, and a worker that can. When it turns false no checkpoint will come,
// and the server ends at once.
func (c *stopping) hopes() bool {
	c.st.Lock()
	defer c.st.Unlock()
	return c.recovery.series.Dir != "" && c.st.Published && c.st.Failure == nil &&
		c.st.Roster.Heard(c.st.Now())
}
