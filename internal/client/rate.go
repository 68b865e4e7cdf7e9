package client

import (
	"context"
	"fmt"
	"sync"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/session"
	"github.com/gofleet/gofleet/internal/wire"
)

// SetRateFactor multiplies all learning rates from this worker's next step on, and the rates of others' updates from
// the same one on in rounds, from the next in other modes, in mode geo from their next exchange. What this worker has
// given before is trained first. Once the first server has been told, all are: it can't be given up between them.
func (c *Client) SetRateFactor(ctx context.Context, factor float64) error {
	if err := c.drain(ctx); err != nil {
		return err
	}
	done, err := c.sessions.InTurn(ctx, "setting the rate")
	if err != nil {
		return err
	}
	defer done()
	return c.rates.set(ctx, factor)
}

// rates have all servers, and this worker, use one factor.
type rates struct {
	link     *link
	sequence *exchange.Sequence
	sessions *session.Worker
	mu       sync.Mutex // held while all servers are told of another factor
}

// set gives all servers the factor under one number in the order of pushes, so that a factor that is sent twice counts
// once. ctx ends it before the first server was asked, and not between two.
func (c *rates) set(ctx context.Context, factor float64) error {
	c.mu.Lock() // two factors have one order on all servers, and on this worker's own copy in mode geo
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	step, acked := c.sequence.Begin()
	defer c.sequence.End(step)
	for s := range c.link.servers { // server 0 first: if this worker dies, it tells the others
		if err := c.send(context.WithoutCancel(ctx), s, step, acked, factor); err != nil {
			return fmt.Errorf("setting the rate: %w", err)
		}
	}
	c.sessions.SetRateFactor(factor)
	return nil
}

// send gives one server the factor, and returns when that has acknowledged it.
func (c *rates) send(ctx context.Context, server int, step, acked uint64, factor float64) error {
	h := c.link.header(server, wire.OpRate)
	h.Seq, h.Acked, h.Round = step, acked, uint64(c.sessions.Round())
	var b wire.Builder
	b.Reset(h)
	if err := b.JSON(wire.Rate{Factor: factor}); err != nil {
		return err
	}
	err := c.link.call(ctx, c.link.controlPatience(), server, b.Parts(), nil)
	if err == nil {
		c.link.counted(server)
	}
	return err
}

// RateFactor implements [backend.Trainer]: server 0 knows.
func (c *Client) RateFactor(ctx context.Context) (float64, error) {
	if err := c.known(); err != nil {
		return 0, err
	}
	return c.rates.factor(ctx)
}

func (c *rates) factor(ctx context.Context) (float64, error) {
	var answer wire.Rate
	if err := c.link.control(ctx, 0, wire.OpRate, wire.Rate{}, &answer); err != nil {
		return 0, fmt.Errorf("asking for the rate: %w", err)
	}
	return answer.Factor, nil
}

// use gives do the factor that was set last. No other is set meanwhile. It is how a session that begins gets the
// factor: nothing lies between its begin and what all servers use.
func (c *rates) use(ctx context.Context, do func(factor float64)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	factor, err := c.factor(ctx)
	if err == nil {
		do(factor)
	}
	return err
}
