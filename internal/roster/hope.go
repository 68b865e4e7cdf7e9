package roster

import (
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// Desert gives up workers that are expected back when nobody else has been there for too long, and says so once.
func (r *Roster) Desert(now time.Time) bool {
	switch {
	case !r.empty() || !r.expects():
		r.deserted = time.Time{}
	case r.deserted.IsZero():
		r.deserted = now
	case now.Sub(r.deserted) > r.o.Back:
		r.givenUp = true
		return true
	}
	return false
}

// Deserted says whether the job has ended since workers that were expected back have not come.
func (r *Roster) Deserted() bool { return r.givenUp }

// expects says whether a worker that is dead is expected back.
func (r *Roster) expects() bool {
	returns := func(m member) bool { return m.state == dead && m.returns }
	return r.o.Back > 0 && !r.hurried && !r.givenUp && slices.ContainsFunc(r.members, returns)
}

// Hurry has workers that miss three heartbeats count as dead: the job is about to end, and waits for no worker
// longer.
func (r *Roster) Hurry() { r.o.Timeout, r.hurried = r.grace(), true }

// Hurried says whether the job is about to end.
func (r *Roster) Hurried() bool { return r.hurried }

// Stay has the server wait for the first worker to join as long as it takes; the others have from then on as long as
// all have at a start.
func (r *Roster) Stay() { r.stays = true }

// Hopeless says why a server that was started then need wait no longer: workers never joined, or all have been silent
// for too long, server 0 included, which declares deaths.
func (r *Roster) Hopeless(started, now time.Time) error {
	if r.stays {
		if !r.Begun() {
			return nil
		}
		if r.joined.IsZero() {
			r.joined = now
		}
		started = r.joined
	}
	last, waiting := started, false
	for w := range r.members {
		m := &r.members[w]
		missing := m.state == absent || m.awaited
		if missing && now.Sub(started) > r.o.Start {
			return wire.Refuse(wire.StatusMissing, "%s within %v of the server's start: is it running, and does it "+
				"know server %s?",
				r.Describe(w, now), r.o.Start, r.o.Endpoint)
		}
		waiting = waiting || missing
		if m.seen.After(last) {
			last = m.seen
		}
	}
	waiting = waiting || r.empty() && r.expects()
	if r.o.Server != 0 && !waiting && now.Sub(last) > 2*r.o.Timeout {
		return wire.Refuse(wire.StatusFailed, "no word from any worker nor from server 0 for %v",
			now.Sub(last).Round(time.Millisecond))
	}
	return nil
}
