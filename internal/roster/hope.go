package roster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// Hope decides how long a server waits for workers that are silent, that have not joined, or that are expected back.
type Hope struct {
	o       Options
	members members
	// timeout is how long a worker may be silent.
	timeout time.Duration
	hurried bool // the job is about to end
	// stays reports that the first worker may join at any time; joined is when it was noticed.
	stays  bool
	joined time.Time
	// said is how long workers had been missing at the last message about it.
	said time.Duration
	// deserted is since when only workers that are expected back are left, zero while there are others; givenUp reports
	// that they have not come.
	deserted time.Time
	givenUp  bool
	// until is when a server may end that came back to a job which no worker was in: those that had stopped may be
	// started again with the others. It is zero otherwise.
	until time.Time
}

// grace is how long a life without signs of life keeps its place.
func (h *Hope) grace() time.Duration { return min(3*h.o.Heartbeat, h.timeout) }

// hears reports whether a member has shown life within grace.
func (h *Hope) hears(m *member, now time.Time) bool { return now.Sub(m.seen) < h.grace() }

// Desert gives up workers that are expected back when no other has been there for too long, and returns true once.
func (h *Hope) Desert(now time.Time) bool {
	if !now.Before(h.until) {
		h.until = time.Time{}
	}
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

// Deserted reports whether the job ended because workers that were expected back did not come.
func (h *Hope) Deserted() bool { return h.givenUp }

// expects reports whether a dead worker is expected back.
func (h *Hope) expects() bool {
	returns := func(m member) bool { return m.state == dead && m.returns }
	return h.o.Back > 0 && !h.hurried && !h.givenUp && slices.ContainsFunc(h.members, returns)
}

// Over reports whether every worker has joined and gone, and none is expected back.
func (h *Hope) Over() bool { return h.members.gone() && !h.expects() && h.until.IsZero() }

// Hurry makes workers that miss three heartbeats count as dead: the job is about to end, and waits no longer for any
// worker.
func (h *Hope) Hurry() { h.timeout, h.hurried, h.until = h.grace(), true, time.Time{} }

// Hurried reports whether the job is about to end.
func (h *Hope) Hurried() bool { return h.hurried }

// Stay makes the server wait without limit for the first worker to join; from then on the others have the usual time.
func (h *Hope) Stay() { h.stays = true }

// firstSaid is how long workers are missing before a server reports it.
const firstSaid = 15 * time.Second

// Missing describes the workers that a server waits for at its start, after 15 s of waiting and each time the wait has
// doubled; it is "" at other times, and if none is missing.
func (h *Hope) Missing(started, now time.Time) string {
	since, waits := h.since(started, now)
	if waited := now.Sub(since); waits && waited >= max(firstSaid, 2*h.said) {
		h.said = waited
		return h.missing(now)
	}
	return ""
}

// since returns the time from which workers have Options.Start to join; waits is false while the first worker may join
// at any time.
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

// mostNamed is the number of missing workers that a message names.
const mostNamed = 4

// missing describes the workers that have not joined, or that have to join again.
func (h *Hope) missing(now time.Time) string {
	var all []int
	for w := range h.members {
		if m := &h.members[w]; m.state == absent || m.awaited {
			all = append(all, w)
		}
	}
	return strings.Join(h.members.some(all, now), ", ")
}

// some describes the first few workers, and says how many more there are.
func (all members) some(workers []int, now time.Time) (named []string) {
	for _, w := range workers[:min(len(workers), mostNamed)] {
		named = append(named, all.describe(w, now))
	}
	if n := len(workers) - mostNamed; n > 0 {
		named = append(named, fmt.Sprintf("%d more", n))
	}
	return named
}

// Hopeless returns why a server need not wait any longer: workers never joined, or all have been silent for too long,
// and server 0, which declares deaths, has been silent too. started is when the server began.
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
