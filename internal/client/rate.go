package client

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/exchange"
	"github.com/gofleet/gofleet/internal/session"
	"github.com/gofleet/gofleet/internal/wire"
)

// SetRateFactor multiplies all learning rates from this worker's next step on. In rounds, other workers' updates use
// the factor from the same step on; in other modes from their next update on, in mode geo from their next exchange on.
// What this worker has pushed before is applied first. Once the first server has the factor, ctx no longer ends the
// call.
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

// rates keeps the factor on learning rates the same on all servers and this worker.
type rates struct {
	link     *link
	sequence *exchange.Sequence
	sessions *session.Worker
	mu       sync.Mutex  // held while a factor is sent to all servers
	leads    atomic.Bool // this worker leads the job's epochs
}

// set sends the factor to all servers as one numbered request in the order of pushes, so that a factor that is sent
// twice counts once. ctx ends it before the first server only.
func (c *rates) set(ctx context.Context, factor float64) error {
	c.mu.Lock() // so that two factors come in the same order to all servers, and to this worker's copy in mode geo
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	step, acked := c.sequence.Begin()
	defer c.sequence.End(step)
	for s := range c.link.servers { // server 0 first: if this worker dies, it sends the factor to the others
		if err := c.send(context.WithoutCancel(ctx), s, step, acked, factor); err != nil {
			return fmt.Errorf("setting the rate: %w", err)
		}
	}
	c.sessions.SetRateFactor(factor)
	return nil
}

// send sends the factor to one server, and returns when the server has acknowledged it.
func (c *rates) send(ctx context.Context, server int, step, acked uint64, factor float64) error {
	h := c.link.header(server, wire.OpRate)
	h.Seq, h.Acked, h.Round = step, acked, uint64(c.sessions.Round())
	var b wire.Builder
	b.Reset(h)
	if err := b.JSON(wire.Rate{Factor: factor, Leads: c.leads.Load()}); err != nil {
		return err
	}
	err := c.link.do(ctx, c.link.controlPatience(), server, b.Parts(), nil)
	if err == nil {
		c.link.counted(server)
	}
	return err
}

// RateFactor implements [backend.Trainer]. It asks server 0.
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

// use calls do with the factor that was set last; no other is set meanwhile. A session that begins gets its factor
// here, so that it misses none.
func (c *rates) use(ctx context.Context, do func(factor float64)) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	factor, err := c.factor(ctx)
	if err == nil {
		do(factor)
	}
	return err
}
