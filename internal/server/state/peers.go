package state

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gofleet/gofleet/internal/peer"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Peers sends requests from a server to the other servers. Every such request may be repeated: the answer is the same.
//
// There are two ways to give up. Server 0 reports a death to the others, one after the other, and must not be held up:
// a peer has the timeout, and a single attempt once it has been lost. Other servers send server 0 requests that it can
// only answer when every server has sent one; an attempt that runs out of time is then a sign of life, since the
// request was taken, and only a server 0 that can't be reached at all is given up after the timeout.
type Peers struct {
	st        *Job
	Index     int
	Endpoints []string
	transport transport.Transport
	// Timeout is how long a peer may be silent before a request is given up.
	Timeout time.Duration
	// Away is how long a peer may be away altogether, which is longer where it can come back.
	Away time.Duration
	// lost are the peers that did not answer for that long. Each further request to one has a single attempt: when a
	// server dies with all its workers, each of their deaths would wait for it again. Only Tell uses it, one call at a
	// time.
	lost []bool
}

func NewPeers(st *Job, index int, endpoints []string, t transport.Transport, s strategy.Strategy) *Peers {
	return &Peers{st: st, Index: index, Endpoints: endpoints, transport: t, Timeout: s.WorkerTimeout.Std(),
		Away: s.ServerTimeout().Std(), lost: make([]bool, len(endpoints))}
}

// Pauses are the pauses between attempts to reach a peer.
var Pauses = peer.Pauses{First: 10 * time.Millisecond, Last: time.Second}

// Others calls do with every other server.
func (p *Peers) Others(do func(to int)) {
	for to := range p.Endpoints {
		if to != p.Index {
			do(to)
		}
	}
}

// Tell sends a control message to another server, repeatedly until it answers or has been silent for the timeout: a
// server that missed the message about a death would wait for the dead worker.
func (p *Peers) Tell(ctx context.Context, to int, op wire.Op, msg, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, p.Away)
	defer cancel()
	attempt, err := p.Request(to, op, msg, answer)
	if err != nil {
		return err
	}
	answered := false
	err = peer.Repeat(ctx, Pauses, func() (peer.Verdict, error) {
		var err error
		if answered, err = attempt(ctx); answered || p.lost[to] {
			return peer.Done, err
		}
		return peer.Pause, err
	})
	p.lost[to] = !answered
	return err
}

// Ask sends server 0 a request that it answers when every server has sent one, repeatedly until it answers or can't be
// reached for the timeout.
func (p *Peers) Ask(ctx context.Context, op wire.Op, msg, answer any) error {
	attempt, err := p.Request(0, op, msg, answer)
	if err != nil {
		return err
	}
	reached := time.Now()
	err = peer.Repeat(ctx, Pauses, func() (peer.Verdict, error) {
		answered, err := attempt(ctx)
		switch {
		case answered && !errors.Is(err, wire.ErrNotReady): // else it is about to be started again
			return peer.Done, err
		case errors.Is(err, context.DeadlineExceeded): // it may be waiting for others
			reached = time.Now()
			return peer.Again, err
		case time.Since(reached) > p.Away:
			return peer.Done, err
		}
		return peer.Pause, err
	})
	if err != nil && ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	if err != nil {
		return p.About(0, "", fmt.Errorf("asking server 0 (%s): %w", p.Endpoints[0], err))
	}
	return nil
}

// About wraps an error with the server it concerns, and what that server had to send.
func (p *Peers) About(server int, awaits string, err error) error {
	return &peer.Error{Role: "server", Index: server, Endpoint: p.Endpoints[server], Worker: -1, Awaits: awaits,
		Err: err}
}

// StillAbout wraps err with the server that other was about, if it was about one.
func StillAbout(other, err error) error {
	if about, ok := errors.AsType[*peer.Error](other); ok {
		same := *about
		same.Err = err
		return &same
	}
	return err
}

// Request builds a message to a peer. Each call of attempt sends it once and reports whether an answer came.
func (p *Peers) Request(to int, op wire.Op, msg, answer any) (attempt func(context.Context) (bool, error), err error) {
	g := p.st.Generation()
	if g == nil {
		return nil, wire.Refuse(wire.StatusNotReady, "server 0 has not said which run of the job this is")
	}
	return p.Attempt(to, wire.Header{Op: op, Job: g.Servers()}, msg, answer)
}

// Attempt is Request with a header. If the header proves the run of the job, the message and its answer carry the lives
// of both servers.
func (p *Peers) Attempt(to int, h wire.Header, msg, answer any) (attempt func(context.Context) (bool, error),
	err error) {
	var life *peer.Life
	if g := p.st.Generation(); g != nil && h.Job == g.Servers() {
		life = p.st.Lives.Of(to)
		h.Worker, h.Life, h.ServerLife = uint32(p.Index), p.st.Lives.Own(), life.Known()
	}
	var b wire.Builder
	b.Reset(h)
	if err := b.JSON(msg); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, p.Timeout/10)
		defer cancel()
		answered, err := peer.Once(ctx, p.transport, p.Endpoints[to], life, b.Parts(),
			func(f *wire.Frame) error { return f.JSON(answer) })
		if errors.Is(err, wire.ErrReplaced) {
			p.st.Lives.End()
		}
		return answered, err
	}, nil
}
