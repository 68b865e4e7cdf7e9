package state

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// monitor is the lock that guards what a server knows of its job, and the one way to wait for a change of it. Code that
// changes something that others may wait for broadcasts before it gives up the lock; waiters look again at what they
// wait for, however many changes were made meanwhile.
//
// Every wait has an end: the job's failure, the server's closing, or the strategy's wait timeout, whose error says for
// whom it waited. That time stands still while a worker that is waited for computes, up to the strategy's longest wait.
type monitor struct {
	sync.Mutex
	server  int           // for errors
	Limit   time.Duration // of a wait
	longest time.Duration // of one for workers that compute
	// computes says whether any of some workers lives and does not wait itself.
	computes func(workers []int) bool
	log      *slog.Logger
	Failure  error
	Failed   func() // what follows from a failure before anybody knows of it
	// Parting says that this server was asked to end, and a checkpoint of then is whole: that the job ends is no news.
	Parting bool
	// over says whether the job is over. It is asked at each broadcast, so that Run, which waits for that alone, is not
	// in the way of every push.
	over    func() bool
	End     context.CancelFunc // of what updates wait for at other servers
	changed chan struct{}      // closed by the next broadcast; nil while nothing waits
	Ending  chan struct{}      // closed and replaced when the job may be over
	closing chan struct{}      // closed when the server closes
	// returns says that the server comes back, so that who waits when it closes may wait on.
	returns bool
	Waits   []wait // that are long, the oldest first
}

// wait is one that is under way, known by its timer, and why.
type wait struct {
	Wait
	timer    *time.Timer
	computes bool // a worker that it is for
}

// A wait is long after a second, and says why anew every so often.
const (
	longWait = time.Second
	saysWhy  = 5 * time.Second
)

// Oldest says what the oldest long wait is for, and whether workers compute that any is for. Locked.
func (m *monitor) Oldest() (why string, computes bool) {
	if len(m.Waits) > 0 {
		why = m.Waits[0].Why
	}
	return why, slices.ContainsFunc(m.Waits, func(w wait) bool { return w.computes })
}

// says notes what a long wait is for, and what it was for no more where that is empty. Locked.
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

// Await waits, with the lock held on entry and exit, until ready says so. why describes the wait for the error.
//
// While it waits the lock is given up, so that what the caller knew before may no longer be so: a worker may have left,
// or another process taken its place. The caller asks again what matters to it. When the time is up or the server
// closes, ready is asked once more, since it may have come true while the lock was being taken: then the wait has not
// failed.
func (m *monitor) Await(ready func() bool, why func() string) error {
	return m.AwaitWorkers(func() []int { return nil }, ready, why)
}

// AwaitWorkers is await for what some workers have to send.
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

// shutdown is the status of what waits as the server closes.
func (m *monitor) shutdown() uint8 {
	if m.returns && m.Failure == nil {
		return wire.StatusNotReady
	}
	return wire.StatusFailed
}

// Poll waits for at most so long, which is no failure: who asked asks again. Locked, as await is.
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

// IsClosing says whether the server closes.
func (m *monitor) IsClosing() bool { return isClosed(m.closing) }

// Close ends all waits, and what updates wait for at other servers: the server closes.
func (m *monitor) Close() {
	close(m.closing)
	m.End()
}

// Change is closed by the next broadcast.
func (m *monitor) Change() <-chan struct{} {
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

// Pass gives the lock up until something has changed. It has no end of its own: it is for what is sure to come.
func (m *monitor) Pass() {
	changed := m.Change()
	m.Unlock()
	<-changed
	m.Lock()
}

// Broadcast wakes everybody who waits, and Run when it is time to look whether the job is over.
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

// Fail ends the job for everybody: a sync round that lost a member's gradient half-way can't be repaired.
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

// Wait is a request that waits.
type Wait struct {
	Why     string
	Workers []int
	Since   time.Time
}
