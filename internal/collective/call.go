package collective

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/transport"
)

// pauses are those between attempts at a rank that does not answer.
var pauses = peer.Pauses{First: 5 * time.Millisecond, Last: 500 * time.Millisecond}

// refusal is an error that another rank sent; asking again does not help.
type refusal struct {
	text string
	kind error
}

func (r refusal) Error() string { return r.text }
func (r refusal) Unwrap() error { return r.kind }

// call sends a message to a rank and gives the answer to read, which may be nil. It is repeated while there is no answer, until
// ctx ends or the rank has been silent for too long.
func (g *Group) call(ctx context.Context, rank int, msg [][]byte, silence time.Duration, read func(answer, []byte) error) error {
	var silentSince time.Time
	return peer.Repeat(ctx, pauses, func() (peer.Verdict, error) {
		err := g.once(ctx, rank, msg, read)
		if err == nil {
			return peer.Done, nil
		}
		g.noteTrouble(ctx, rank, err)
		var refused refusal
		switch {
		case ctx.Err() != nil:
			return peer.Done, context.Cause(ctx)
		case errors.As(err, &refused), errors.Is(err, transport.ErrRefused), errors.Is(err, transport.ErrTooLarge):
			return peer.Done, fmt.Errorf("collective: %s: %w", g.name(rank), err)
		case silentSince.IsZero():
			silentSince = g.clock.Now()
		case g.silence(rank, silentSince) > silence:
			return peer.Done, fmt.Errorf("%w: %s has not answered for %v: %w", ErrDead, g.name(rank),
				g.silence(rank, silentSince).Round(time.Millisecond), err)
		}
		return peer.Pause, err
	})
}

// noteTrouble remembers why a rank has not answered, unless that is the end of ctx.
func (g *Group) noteTrouble(ctx context.Context, rank int, err error) {
	if ctx.Err() != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trouble[rank] = err
}

// why is what is known of ranks that have not answered: the first one's trouble.
func (g *Group) why(ranks []int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range ranks {
		if g.trouble[r] != nil {
			return g.trouble[r]
		}
	}
	return errors.New("no answer yet")
}

// once makes one attempt.
func (g *Group) once(ctx context.Context, rank int, msg [][]byte, read func(answer, []byte) error) error {
	return g.c.Transport.Call(ctx, g.c.Endpoints[rank], msg, func(b []byte) error {
		var a answer
		body, err := a.parse(b)
		if err != nil {
			return err
		}
		g.see(rank)
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

// each calls f for every other rank at once, beginning with the next one so that not all call the same, and returns the first
// error; the others are ended by it.
func (g *Group) each(ctx context.Context, f func(ctx context.Context, rank int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := g.Ranks()
	done := make(chan error, n)
	for i := 1; i < n; i++ {
		go func() { done <- f(ctx, (g.c.Rank+i)%n) }()
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

// bound is ctx with the group's own end and a time.
func (g *Group) bound(ctx context.Context, d time.Duration, late error) (context.Context, func()) {
	ctx, release := peer.Bound(ctx, g.life)
	ctx, cancel := context.WithTimeoutCause(ctx, d, late)
	return ctx, func() {
		cancel()
		release()
	}
}
