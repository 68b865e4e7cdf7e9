package state

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// monitor is the lock that guards a server's state of the job, and the only way to wait for a change of it. Code that
// changes something that others may wait for broadcasts before it releases the lock; each waiter then checks its
// condition again, however many changes were made meanwhile.
//
// Every wait ends: by the job's failure, the server's closing or the strategy's wait timeout, whose error says which
// roles it waited for. The timeout does not run while one of the awaited workers computes, up to the strategy's longest
// wait.
type monitor struct {
	sync.Mutex
	server  int           // for errors
	Limit   time.Duration // bound of a wait
	longest time.Duration // bound of a wait for workers that compute
	// computes reports whether any of some workers lives and is not waiting itself.
	computes func(workers []int) bool
	log      *slog.Logger
	Failure  error
	Failed   func() // called once the job has failed, before other roles can see it
	// Parting reports that this server was asked to end, and that a checkpoint is whole since: the end of the job is
	// expected.
	Parting bool
	// over reports whether the job is over. It is called at each broadcast, so that Run, which waits for nothing else,
	// does not wake at every push.
	over    func() bool
	End     context.CancelFunc // ends updates' waits for other servers
	changed chan struct{}      // closed by the next broadcast; nil while nothing waits
	Ending  chan struct{}      // closed and replaced when the job may be over
	closing chan struct{}      // closed when the server closes
	// returns reports that the server comes back: requests that wait when it closes may be sent again.
	returns bool
	Waits   []wait // the long ones, the oldest first
}

// wait is a wait under way, identified by its timer, with its reason.
type wait struct {
	Wait
	timer    *time.Timer
	computes bool // an awaited worker computes
}

// A wait counts as long after longWait, and renews its reason every saysWhy.
const (
	longWait = time.Second
	saysWhy  = 5 * time.Second
)

// Oldest returns what the oldest long wait is for, and whether a worker that any of them needs computes. The caller
// holds the lock.
func (m *monitor) Oldest() (why string, computes bool) {
	if len(m.Waits) > 0 {
		why = m.Waits[0].Why
	}
	return why, slices.ContainsFunc(m.Waits, func(w wait) bool { return w.computes })
}

// says notes the reason of a long wait; an empty reason removes the wait. The caller holds the lock.
func (m *monitor) says(is wait) {
	at := slices.IndexFunc(m.Waits, func(w wait) bool { return w.timer == is.timer })
	switch {
	case at < 0 && is.Why != "":
		m.Waits = append(m.Waits, is)
	case at >= 0 && is.Why != "":
		m.Waits[at] = is
	case at >= 0:
		m.Waits = slices.Delete(m.Waits, at, at+1)
	}
}

// Await waits until ready returns true. The caller holds the lock. why describes the wait for the error.
//
// The lock is released during the wait, so that a worker may have left meanwhile, or another process may have taken its
// place. The caller checks such things again. When the time is up or the server closes, ready is called once more,
// since it may have become true while the lock was being taken: then Await succeeds.
func (m *monitor) Await(ready func() bool, why func() string) error {
	return m.AwaitWorkers(func() []int { return nil }, ready, why)
}

// AwaitWorkers is Await for something that the workers of whom have to send.
func (m *monitor) AwaitWorkers(whom func() []int, ready func() bool, why func() string) error {
	var timer *time.Timer
	var began, computed time.Time // computed is when one of them was last known to compute
	defer func() {
		if timer != nil {
			timer.Stop()
			m.says(wait{timer: timer})
		}
	}()
	for !ready() {
		if m.Failure != nil {
			return m.Failure
		}
		if timer == nil {
			timer, began = time.NewTimer(min(longWait, m.Limit)), time.Now()
			computed = began
		}
		changed := m.Change()
		m.Unlock()
		look := false
		select {
		case <-changed:
		case <-m.closing:
		case <-timer.C:
			look = true
		}
		m.Lock()
		if look && !ready() {
			workers := whom()
			computes := m.computes(workers)
			if computes {
				computed = time.Now()
			}
			left := min(m.Limit-time.Since(computed), m.longest-time.Since(began))
			if left <= 0 {
				return wire.Refuse(wire.StatusFailed, "server %d waited %v %s", m.server,
					time.Since(began).Round(time.Millisecond), why())
			}
			m.says(wait{Wait{why(), slices.Clone(workers), began}, timer, computes})
			timer.Reset(min(left, saysWhy))
		}
		if isClosed(m.closing) && !ready() {
			return wire.Refuse(m.shutdown(), "server %d has shut down while it waited %s", m.server, why())
		}
	}
	return m.Failure
}

// shutdown is the status of requests that wait while the server closes.
func (m *monitor) shutdown() uint8 {
	if m.returns && m.Failure == nil {
		return wire.StatusNotReady
	}
	return wire.StatusFailed
}

// Poll waits for at most limit. Running out of time is no error: the sender asks again. The caller holds the lock, as
// for Await.
func (m *monitor) Poll(limit time.Duration, ready func() bool) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for over := false; !over && m.Failure == nil && !ready(); {
		if isClosed(m.closing) {
			return wire.Refuse(m.shutdown(), "server %d has shut down", m.server)
		}
		changed := m.Change()
		m.Unlock()
		select {
		case <-changed:
		case <-m.closing:
		case <-timer.C:
			over = true
		}
		m.Lock()
	}
	return m.Failure
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// IsClosing reports whether the server closes.
func (m *monitor) IsClosing() bool { return isClosed(m.closing) }

// Close ends all waits, and the waits of updates for other servers, since the server closes.
func (m *monitor) Close() {
	close(m.closing)
	m.End()
}

// Change returns a channel that the next broadcast closes.
func (m *monitor) Change() <-chan struct{} {
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// Pass releases the lock until something has changed. It has no timeout: it is for changes that are sure to come.
func (m *monitor) Pass() {
	changed := m.Change()
	m.Unlock()
	<-changed
	m.Lock()
}

// Broadcast wakes all waiters, and Run if the job may be over.
func (m *monitor) Broadcast() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
	if m.Failure != nil || m.over() {
		close(m.Ending)
		m.Ending = make(chan struct{})
	}
}

// Fail ends the job for all roles: a sync round that has lost a gradient can't be repaired.
func (m *monitor) Fail(err error) {
	if m.Failure == nil {
		m.Failure = err
		if m.Parting {
			m.log.Info("the job ends", "error", err)
		} else {
			m.log.Error("job failed", "error", err)
		}
		m.Failed()
		m.End()
		m.Broadcast()
	}
}

// Wait is a request that waits: its reason, the workers it needs, and when it began.
type Wait struct {
	Why     string
	Workers []int
	Since   time.Time
}
