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

// Peers is how a server talks to the others. All that servers ask of each other may be asked again: the answer is the
// same.
//
// There are two ways to give up. Server 0 tells the others of a death, one after the other, and must get on: a peer has
// the timeout, and after it has been lost once a single attempt. Other servers ask server 0 for what it can only answer
// when every server has asked; there an attempt that runs out of time is a sign of life, since the request was taken,
// and only a server 0 that can't be reached at all is given up after the timeout.
type Peers struct {
	st        *Job
	Index     int
	Endpoints []string
	transport transport.Transport
	// Timeout is how long a peer may be silent before a request is given up.
	Timeout time.Duration
	// Away is how long one may be away altogether, which is longer where it can come back.
	Away time.Duration
	// lost are the peers that did not answer for so long. They are asked once each time: when a server dies and takes
	// all workers with it, each of their deaths would wait for it again. Only tell has it, one call at a time.
	lost []bool
}

func NewPeers(st *Job, index int, endpoints []string, t transport.Transport, s strategy.Strategy) *Peers {
	return &Peers{st: st, Index: index, Endpoints: endpoints, transport: t, Timeout: s.WorkerTimeout.Std(),
		Away: s.ServerTimeout().Std(), lost: make([]bool, len(endpoints))}
}

// Pauses are the pauses between attempts at a peer.
var Pauses = peer.Pauses{First: 10 * time.Millisecond, Last: time.Second}

// Others calls do with every other server.
func (p *Peers) Others(do func(to int)) {
	for to := range p.Endpoints {
		if to != p.Index {
			do(to)
		}
	}
}

// Tell sends a control message to another server, again and again until it answers or has been silent for the timeout:
// one that did not get the word of a death would wait for the dead.
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

// Ask sends server 0 what it needs from every server before it can answer, again and again until it answers or can't be
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

// About has an error say which other server it is about, and what it was to send.
func (p *Peers) About(server int, awaits string, err error) error {
	return &peer.Error{Role: "server", Index: server, Endpoint: p.Endpoints[server], Worker: -1, Awaits: awaits,
		Err: err}
}

// StillAbout is an error that another has become, about the same server.
func StillAbout(other, err error) error {
	if about, ok := errors.AsType[*peer.Error](other); ok {
		same := *about
		same.Err = err
		return &same
	}
	return err
}

// Request is a message to a peer, of which each call makes one attempt and says whether there was an answer.
func (p *Peers) Request(to int, op wire.Op, msg, answer any) (attempt func(context.Context) (bool, error), err error) {
	g := p.st.Generation()
	if g == nil {
		return nil, wire.Refuse(wire.StatusNotReady, "server 0 has not said which run of the job this is")
	}
	return p.Attempt(to, wire.Header{Op: op, Job: g.Servers()}, msg, answer)
}

// Attempt is a message to a peer with a header. Where that proves the run of the job, both know each other's life.
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
