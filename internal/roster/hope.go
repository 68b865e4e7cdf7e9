package roster

import (
	"fmt"
	"slices"
	"strings"
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
	// said is how long workers had been waited for when it was last said that they are missing.
	said time.Duration
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

// firstSaid is how long workers are waited for before a server says so.
const firstSaid = 15 * time.Second

// Missing describes the workers that a server waits for at its start, after 15 s of waiting and each time the wait has
// doubled; it is empty at other times, and when none is missing.
func (h *Hope) Missing(started, now time.Time) string {
	since, waits := h.since(started, now)
	if waited := now.Sub(since); waits && waited >= max(firstSaid, 2*h.said) {
		h.said = waited
		return h.missing(now)
	}
	return ""
}

// since is the time from which workers have Options.Start to join. It is false while the first worker may take as long
// as it needs.
func (h *Hope) since(started, now time.Time) (since time.Time, waits bool) {
	switch {
	case !h.stays:
		return started, true
	case !h.members.begun():
		return time.Time{}, false
	case h.joined.IsZero():
		h.joined = now
	}
	return h.joined, true
}

// mostNamed is how many missing workers are named.
const mostNamed = 8

// missing describes the workers that have not joined, or that have to join again.
func (h *Hope) missing(now time.Time) string {
	var named []string
	n := 0
	for w := range h.members {
		if m := &h.members[w]; m.state == absent || m.awaited {
			if n++; n <= mostNamed {
				named = append(named, h.members.describe(w, now))
			}
		}
	}
	if n > mostNamed {
		named = append(named, fmt.Sprintf("%d more", n-mostNamed))
	}
	return strings.Join(named, ", ")
}

// Hopeless says why a server that was started then need wait no longer: workers never joined, or all have been silent
// for too long, server 0 included, which declares deaths.
func (h *Hope) Hopeless(started, now time.Time) error {
	since, waits := h.since(started, now)
	if !waits {
		return nil
	}
	missing := h.missing(now)
	if missing != "" && now.Sub(since) > h.o.Start {
		return wire.Refuse(wire.StatusMissing, "missing %v after the server's start: %s; are they running, and do "+
			"they know server %s? The log of the server says whom it refused", h.o.Start, missing, h.o.Endpoint)
	}
	last := since
	for w := range h.members {
		if m := &h.members[w]; m.seen.After(last) {
			last = m.seen
		}
	}
	waiting := missing != ""
	waiting = waiting || h.members.gone() && h.expects()
	if h.o.Server != 0 && !waiting && now.Sub(last) > 2*h.timeout {
		return wire.Refuse(wire.StatusFailed, "no word from any worker nor from server 0 for %v",
			now.Sub(last).Round(time.Millisecond))
	}
	return nil
}
