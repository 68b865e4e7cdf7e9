package server

import (
	"context"
	"errors"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
)

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
	if b.roster.Hope.Hurried() {
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

// refusalOf returns the refusal that an error wraps: the answer of another process, not a failure of the network.
func refusalOf(err error) (*wire.Refusal, bool) {
	var r *wire.Refusal
	return r, errors.As(err, &r)
}
