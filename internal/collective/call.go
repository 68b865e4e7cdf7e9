package collective

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/transport"
)

// pauses are the pauses between attempts at a rank that does not answer.
var pauses = peer.Pauses{First: 5 * time.Millisecond, Last: 500 * time.Millisecond}

// refusal is an error that another rank answered; another attempt does not change it.
type refusal struct {
	text string
	kind error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.kind }

// link sends messages to the other ranks.
type link struct {
	members   *members
	transport transport.Transport
	life      context.Context // ends with the group
}

// call sends a message to a rank and gives the answer to read, which may be nil. Without an answer it repeats the
// message until ctx ends or the rank has been silent for too long.
func (l *link) call(ctx context.Context, rank int, msg [][]byte, silence time.Duration,
	read func(answer, []byte) error) error {
	var silentSince time.Time
	return peer.Repeat(ctx, pauses, func() (peer.Verdict, error) {
		err := l.once(ctx, rank, msg, read)
		if err == nil {
			return peer.Done, nil
		}
		if ctx.Err() == nil {
			l.members.noteTrouble(rank, err)
		}
		var refused refusal
		switch {
		case ctx.Err() != nil:
			return peer.Done, context.Cause(ctx)
		case errors.As(err, &refused), errors.Is(err, transport.ErrRefused), errors.Is(err, transport.ErrTooLarge):
			return peer.Done, l.members.about(rank, fmt.Errorf("collective: %s: %w", l.members.name(rank), err))
		case silentSince.IsZero():
			silentSince = l.members.clock.Now()
		case l.members.silence(rank, silentSince) > silence:
			return peer.Done, l.members.about(rank, fmt.Errorf("%w: %s has not answered for %v: %w", ErrDead,
				l.members.name(rank), l.members.silence(rank, silentSince).Round(time.Millisecond), err))
		}
		return peer.Pause, err
	})
}

// once makes one attempt.
func (l *link) once(ctx context.Context, rank int, msg [][]byte, read func(answer, []byte) error) error {
	return l.transport.Call(ctx, l.members.endpoints[rank], msg, func(b []byte) error {
		var a answer
		body, err := a.parse(b)
		if err != nil {
			return err
		}
		l.members.see(rank)
		switch {
		case a.status == statusFailed:
			return refusal{"it failed: " + string(body), ErrDead}
		case a.status != statusOK:
			return refusal{string(body), ErrMessage}
		case read == nil:
			return nil
		}
		return read(a, body)
	})
}

// each calls f for every other rank at once, beginning with the next rank so that not all ranks call the same one
// first. It returns the first error, which also ends the context of the other calls.
func (l *link) each(ctx context.Context, f func(ctx context.Context, rank int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := l.members.ranks()
	done := make(chan error, n)
	for i := 1; i < n; i++ {
		go func() { done <- f(ctx, (l.members.rank+i)%n) }()
	}
	var first error
	for i := 1; i < n; i++ {
		if err := <-done; err != nil && first == nil {
			first = err
			cancel(err)
		}
	}
	return first
}

// bound returns ctx with a time limit d, whose cause is late, that also ends with the group.
func (l *link) bound(ctx context.Context, d time.Duration, late error) (context.Context, func()) {
	ctx, release := peer.Bound(ctx, l.life)
	ctx, cancel := context.WithTimeoutCause(ctx, d, late)
	return ctx, func() {
		cancel()
		release()
	}
}
