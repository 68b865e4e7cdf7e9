package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

// watch keeps in touch with server 0, or as server 0 with all others, until ctx ends. On server 0 each other server has
// a goroutine; watch returns when all have ended.
func (c *servers) watch(ctx context.Context) {
	if c.index != 0 {
		c.beatTo(ctx, 0)
		return
	}
	var all sync.WaitGroup
	c.peers.Others(func(to int) { all.Go(func() { c.beatTo(ctx, to) }) })
	all.Wait()
}

// beatTo asks a server whether it is there until ctx ends, the server has announced its end, or the job can't go on. A
// failure ends the job, and the loop with its next check.
func (c *servers) beatTo(ctx context.Context, to int) {
	b := bond{servers: c, to: to, heard: c.st.Now()}
	for ctx.Err() == nil {
		met, over := c.known(to)
		if over {
			return
		}
		if pause, failure := b.beat(ctx, met); failure != nil {
			c.fail(c.peers.About(to, "", failure))
		} else if awake.Rest(ctx, pause) != nil {
			return
		}
	}
}

// introductionPause is the longest pause between attempts to introduce this server to server 0, since workers wait for
// it.
const introductionPause = 100 * time.Millisecond

// endedAfter is how long nothing listens at a server's endpoint until it counts as ended, if it does not come back.
const endedAfter = 2 * time.Second

// bond is one server's view of another. Only the goroutine of [servers.beatTo] uses it.
type bond struct {
	*servers
	// to is the index of the other server.
	to int
	// heard is the time of its last answer, and absent since when no process has listened there.
	heard  time.Time
	absent peer.Absence
}

// beat sends one report, and returns the pause until the next, or why the job can't go on. met reports that the two
// servers know each other: this one has the key, or on server 0 the other's process. beat runs on the goroutine of one
// bond, and takes the lock only briefly. The caller fails the job with failure.
func (b *bond) beat(ctx context.Context, met bool) (pause time.Duration, failure error) {
	if !met && b.index == 0 { // the other server reports first
		b.heard, b.absent = b.st.Now(), peer.Absence{}
		return b.pace / 4, nil
	}
	err := b.report(ctx, b.to)
	refusal, refused := errors.AsType[*wire.Refusal](err)
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

// missed decides what follows when there was no answer. A refused connection shows that a process has ended sooner than
// silence does. err is how the attempt ended.
func (b *bond) missed(err error) (pause time.Duration, failure error) {
	now := b.st.Now()
	nobody, silent := b.absent.Note(err, now), now.Sub(b.heard)
	switch {
	case nobody && b.absent.Ended(now, b.endedAfter()):
		b.ends(b.to)
		return 0, wire.Refuse(wire.StatusBack,
			"%s has ended, nobody listens there any more, and its weights are lost: "+
				"start the job again from its last checkpoint", b.name(b.to))
	case silent > b.away() && silent <= b.peers.Away: // a server about to end waits for none that is gone
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

// away is how long a server may be silent: at most three heartbeats if the job is about to end.
func (b *bond) away() time.Duration {
	b.st.Lock()
	defer b.st.Unlock()
	if b.st.Roster.Hope.Hurried() {
		return min(3*b.pace, b.peers.Away)
	}
	return b.peers.Away
}

// endedAfter is how long nothing listens at the endpoint until the server counts as ended for good.
func (b *bond) endedAfter() time.Duration {
	if b.journal.ComesBack() {
		return b.peers.Away
	}
	return min(endedAfter, b.peers.Timeout/4)
}
