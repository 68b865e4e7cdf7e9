package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
)

// heartbeats shows every server that this worker lives until the client ends, and ends it when a server does not.
func (c *Client) heartbeats() {
	var wg sync.WaitGroup
	for s := range c.c.Servers {
		wg.Go(func() { c.beatTo(s) })
	}
	wg.Wait()
}

func (c *Client) beatTo(server int) {
	tick := time.NewTicker(c.c.Strategy.HeartbeatInterval.Std())
	defer tick.Stop()
	heard := time.Now()
	for {
		select {
		case <-c.life.Done():
			return
		case <-tick.C:
		}
		switch err := c.ping(server); {
		case err == nil:
			heard = time.Now()
		case isRefusal(err), hopeless(err):
			c.fail(c.name(server, err))
			return
		case time.Since(heard) > c.c.Strategy.WorkerTimeout.Std():
			c.fail(c.name(server, fmt.Errorf("silent for %v: %w", time.Since(heard).Round(time.Millisecond), err)))
			return
		}
	}
}

func (c *Client) ping(server int) error {
	ctx, cancel := context.WithTimeout(c.life, c.c.Strategy.WorkerTimeout.Std())
	defer cancel()
	var b wire.Builder
	b.Reset(c.header(wire.OpHeartbeat))
	_, err := c.once(ctx, server, b.Parts(), nil)
	return err
}

func isRefusal(err error) bool {
	var r *wire.Refusal
	return errors.As(err, &r) && r.Status != wire.StatusNotReady
}

// fail ends the client, unless it is leaving anyway: then servers may be gone.
func (c *Client) fail(err error) {
	if !c.hasLeft() {
		c.log.Error("training can't go on", "error", err)
		c.end(err)
	}
}
