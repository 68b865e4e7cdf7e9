package roster

import (
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// Hope is how long a server waits for workers: for those that are silent, that have not joined, or that are expected
// back.
type Hope struct {
	o       Options
	members members
	// timeout is how long a worker may be silent.
	timeout time.Duration
	hurried bool // the job is about to end
	// stays says that the first worker may join whenever it does, and joined is when one was seen to have.
	stays  bool
	joined time.Time
	// deserted is since when nobody is left but workers that are expected back, zero while there are others, and given
	// up says that they have not come.
	deserted time.Time
	givenUp  bool
}

// grace is how long a life that shows no sign of life keeps its place.
func (h *Hope) grace() time.Duration { return min(3*h.o.Heartbeat, h.timeout) }

// hears says whether a member has shown life lately.
func (h *Hope) hears(m *member, now time.Time) bool { return now.Sub(m.seen) < h.grace() }

// Desert gives up workers that are expected back when nobody else has been there for too long, and says so once.
func (h *Hope) Desert(now time.Time) bool {
	switch {
	case !h.members.gone() || !h.expects():
		h.deserted = time.Time{}
	case h.deserted.IsZero():
		h.deserted = now
	case now.Sub(h.deserted) > h.o.Back:
		h.givenUp = true
		return true
	}
	return false
}

// Deserted says whether the job has ended since workers that were expected back have not come.
func (h *Hope) Deserted() bool { return h.givenUp }

// expects says whether a worker that is dead is expected back.
func (h *Hope) expects() bool {
	returns := func(m member) bool { return m.state == dead && m.returns }
	return h.o.Back > 0 && !h.hurried && !h.givenUp && slices.ContainsFunc(h.members, returns)
}

// Over says whether every worker has been here and gone, and none is expected back.
func (h *Hope) Over() bool { return h.members.gone() && !h.expects() }

// Hurry has workers that miss three heartbeats count as dead: the job is about to end, and waits for no worker
// longer.
func (h *Hope) Hurry() { h.timeout, h.hurried = h.grace(), true }

// Hurried says whether the job is about to end.
func (h *Hope) Hurried() bool { return h.hurried }

// Stay has the server wait for the first worker to join as long as it takes; the others have from then on as long as
// all have at a start.
func (h *Hope) Stay() { h.stays = true }

// Hopeless says why a server that was started then need wait no longer: workers never joined, or all have been silent
// for too long, server 0 included, which declares deaths.
func (h *Hope) Hopeless(started, now time.Time) error {
	if h.stays {
		if !h.members.begun() {
			return nil
		}
		if h.joined.IsZero() {
			h.joined = now
		}
		started = h.joined
	}
	last, waiting := started, false
	for w := range h.members {
		m := &h.members[w]
		missing := m.state == absent || m.awaited
		if missing && now.Sub(started) > h.o.Start {
			return wire.Refuse(wire.StatusMissing, "%s within %v of the server's start: is it running, and does it "+
				"know server %s?",
				h.members.describe(w, now), h.o.Start, h.o.Endpoint)
		}
		waiting = waiting || missing
		if m.seen.After(last) {
			last = m.seen
		}
	}
	waiting = waiting || h.members.gone() && h.expects()
	if h.o.Server != 0 && !waiting && now.Sub(last) > 2*h.timeout {
		return wire.Refuse(wire.StatusFailed, "no word from any worker nor from server 0 for %v",
			now.Sub(last).Round(time.Millisecond))
	}
	return nil
}
