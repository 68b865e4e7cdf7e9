package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/transport"
)

// errGone says that a server is not there any more.
var errGone = errors.New("server is gone")

// call sends one request to a server and gives the answer to read, which may be nil. While there is no answer, the request
// is repeated until ctx ends or the server has been silent for the strategy's worker timeout.
func (c *Client) call(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) error {
	ctx, cancel := c.bound(ctx)
	defer cancel(nil)
	var silentSince time.Time
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		answered, err := c.once(ctx, server, req, read)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return c.name(server, context.Cause(ctx))
		case answered && !errors.Is(err, wire.ErrNotReady), hopeless(err):
			return c.name(server, err)
		case silentSince.IsZero():
			silentSince = time.Now()
		case time.Since(silentSince) > c.c.Strategy.WorkerTimeout.Std():
			return c.name(server, fmt.Errorf("no answer for %v: %w", time.Since(silentSince).Round(time.Millisecond), err))
		case errors.Is(err, transport.ErrUnreachable) && c.hasLeft():
			return c.name(server, errGone)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return c.name(server, context.Cause(ctx))
		}
	}
}

const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// once makes one attempt and says whether the server answered it.
func (c *Client) once(ctx context.Context, server int, req [][]byte, read func(*wire.Frame) error) (answered bool, err error) {
	err = c.c.Transport.Call(ctx, c.c.Servers[server], req, func(body []byte) error {
		var f wire.Frame
		if err := f.Parse(body); err != nil {
			return err
		}
		answered = true
		if err := f.Refusal(); err != nil || read == nil {
			return err
		}
		return read(&f)
	})
	return answered, err
}

// bound ends ctx with the client, and after the strategy's wait timeout.
func (c *Client) bound(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	limit := c.c.Strategy.WaitTimeout.Std()
	timer := time.AfterFunc(limit, func() { cancel(fmt.Errorf("no answer within %v: %w", limit, context.DeadlineExceeded)) })
	stop := context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })
	return ctx, func(err error) {
		stop()
		timer.Stop()
		cancel(err)
	}
}

// name says which server an error is about.
func (c *Client) name(server int, err error) error {
	return fmt.Errorf("server %d (%s): %w", server, c.c.Servers[server], err)
}

func (c *Client) hasLeft() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.left
}

// control sends a control message, nil for none, and reads the answer's into answer, nil for none.
func (c *Client) control(ctx context.Context, server int, op wire.Op, msg, answer any) error {
	var b wire.Builder
	h := c.header(op)
	h.Round = uint64(c.currentRound())
	b.Reset(h)
	if msg != nil {
		if err := b.JSON(msg); err != nil {
			return err
		}
	}
	return c.call(ctx, server, b.Parts(), func(f *wire.Frame) error {
		if answer == nil {
			return nil
		}
		return f.JSON(answer)
	})
}
