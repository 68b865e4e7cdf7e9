package client

import (
	"cmp"
	"context"
	"sync"
	"time"
)

// alarm calls ring at a time that may be moved for next to nothing: its timer is set again only when it fires, or for
// an earlier time. A timer for each request would wake threads that have nothing to do.
type alarm struct {
	// ring returns when it is to be called again; zero is never. It runs on a goroutine of its own, with mu held.
	ring func(now time.Time) (next time.Time)

	mu    sync.Mutex // guards the fields below
	at    time.Time  // when to ring; zero for never
	fires time.Time  // when the timer does; zero if it is not set
	timer *time.Timer
}

// set has the alarm ring at a time, or never if that is zero. It waits until the alarm does not ring.
func (a *alarm) set(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.at = at
	a.wind()
}

// wind sets the timer if it would fire too late. The caller holds mu.
func (a *alarm) wind() {
	if a.at.IsZero() || !a.fires.IsZero() && !a.at.Before(a.fires) {
		return
	}
	if a.fires = a.at; a.timer == nil {
		a.timer = time.AfterFunc(time.Until(a.at), a.fired)
	} else {
		a.timer.Reset(time.Until(a.at))
	}
}

func (a *alarm) fired() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fires = time.Time{}
	if now := time.Now(); !a.at.IsZero() && !now.Before(a.at) {
		a.at = a.ring(now)
	}
	a.wind()
}

// line is the context of one attempt at a time: it ends with the client, with the caller's context, or when an answer
// has taken too long. A line that has not ended serves later attempts, and still ends with the context of the last.
type line struct {
	context.Context // ends with the client
	alarm
	end    context.CancelCauseFunc
	caller context.Context
	stop   func() bool // lets go of caller
}

// line returns a line for an attempt that ends with ctx, or with errSlow after wait from now on.
func (l *link) line(ctx context.Context, now time.Time, wait time.Duration) *line {
	n, ok := l.lines.get()
	if !ok || !n.follow(ctx) {
		n = new(line)
		n.Context, n.end = context.WithCancelCause(l.ctx)
		n.ring = func(time.Time) (never time.Time) { n.end(errSlow); return never }
		n.follow(ctx)
	}
	if wait <= 0 {
		n.end(errSlow)
	}
	n.set(now.Add(wait))
	return n
}

// follow has a line end with ctx, and no longer with another. It reports whether the line can be used: an earlier
// context has not ended it.
func (n *line) follow(ctx context.Context) bool {
	if n.caller != nil && n.caller.Done() == ctx.Done() {
		n.caller = ctx
		return n.Context.Err() == nil
	}
	if n.caller != nil && (!n.stop() || n.Context.Err() != nil) {
		return false
	}
	n.caller, n.stop = ctx, context.AfterFunc(ctx, func() { n.end(context.Cause(ctx)) })
	return true
}

// Err implements [context.Context]. It does not wait until AfterFunc has noticed that the caller's context has ended.
func (n *line) Err() error { return cmp.Or(n.caller.Err(), n.Context.Err()) }

// hangUp takes a line back after its attempt.
func (l *link) hangUp(n *line) {
	n.set(time.Time{})
	if n.Err() == nil {
		l.lines.put(n)
	} else {
		n.stop()
	}
}

// letGo has lines that are not in use no longer follow a context.
func (l *link) letGo() {
	for n, ok := l.lines.get(); ok; n, ok = l.lines.get() {
		n.stop()
	}
}

// spares are things that are not in use; the one used last is used next.
type spares[T any] struct {
	mu  sync.Mutex
	all []T
}

func (s *spares[T]) get() (x T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.all); n > 0 {
		x, s.all, ok = s.all[n-1], s.all[:n-1], true
	}
	return x, ok
}

func (s *spares[T]) put(x T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, x)
}
