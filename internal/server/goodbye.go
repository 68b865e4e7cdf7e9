package server

import (
	"context"
	"errors"
	"sync"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// farewell informs the other servers that this one ends, and why if the job can't go on. It returns when each has the
// message, needs it no more, or a few heartbeats are over. This server still listens, so that two servers that end
// together receive each other's message.
func (c *servers) farewell(failure error) {
	g := c.st.Generation()
	if g == nil {
		return
	}
	c.st.Lock()
	msg := wire.Report{Server: c.index, Process: c.process, Ends: true, Left: c.st.Roster.Left()}
	c.st.Unlock()
	if failure != nil {
		msg.Status, msg.Why = wire.StatusFailed, failure.Error()
		if r, ok := errors.AsType[*wire.Refusal](failure); ok {
			msg.Status, msg.Why = r.Status, r.Text
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(3*c.pace, c.peers.Timeout/4))
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	c.peers.Others(func(to int) {
		attempt, err := c.peers.Attempt(to, wire.Header{Op: wire.OpReport, Job: g.Servers()}, msg, new(wire.Reported))
		if err == nil {
			all.Go(func() { c.part(ctx, to, attempt) })
		}
	})
}

// part repeats the last message to a server until that server has it, or has ended too. Without it the other server
// would take an end for a death.
func (c *servers) part(ctx context.Context, to int, attempt func(context.Context) (bool, error)) {
	var absent peer.Absence
	_ = peer.Repeat(ctx, state.Pauses, func() (peer.Verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, c.pace/2)
		defer cancel()
		answered, err := attempt(ctx)
		c.st.Lock()
		ended := c.ended[to] // it may have announced its end meanwhile
		c.st.Unlock()
		if now := c.st.Now(); ended || answered || absent.Note(err, now) && absent.Ended(now, c.pace/2) {
			return peer.Done, err
		}
		return peer.Pause, err
	})
}

// send sends a report to server 0, once, and returns how many checkpoints server 0 has had saved for servers that stop;
// server 0 itself needs no message. It does nothing before server 0 has announced the generation.
func (c *servers) send(ctx context.Context, msg wire.Report) (whole int, err error) {
	if c.index == 0 {
		c.st.Lock()
		defer c.st.Unlock()
		return c.wished(&msg), nil
	}
	g := c.st.Generation()
	if g == nil {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.peers.Timeout/10)
	defer cancel()
	var answer wire.Reported
	msg.Server, msg.Process = c.index, c.process
	attempt, err := c.peers.Attempt(0, wire.Header{Op: wire.OpReport, Job: g.Servers()}, msg, &answer)
	if err == nil {
		_, err = attempt(ctx)
	}
	return answer.Whole, err
}
