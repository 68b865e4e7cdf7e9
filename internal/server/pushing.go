package server

import (
	"errors"

	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// pushing makes each push count once, however often it arrives.
//
// The first request of a sequence number is admitted: it waits for its turn and is noted. Every request of that number,
// the first and each repetition, waits until its update is in the tables, and gets the same answer. If that wait fails,
// the job fails: other servers may hold this gradient for the same round, and without it the round can't close.
type pushing struct {
	st     *state.Job
	roster *roster.Roster
	// rounds take the gradient, and pieces hold its parts until then.
	rounds *rounds
	pieces *pieces
	// changed and delays add what the update needs to know of the worker.
	changed *changed
	delays  *delays
}

// push notes a gradient and returns when it is part of the weights. The answer's header reports the outcome. It runs on
// the request's goroutine, and may wait for all other workers of the round. When it returns nil, the update is in the
// tables and the next round is open to the sender. A refusal of the push itself has changed nothing; a wait for its
// update that fails has failed the job.
func (c *pushing) push(f *wire.Frame, p *push, answer *wire.Header) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	request, seen, err := c.roster.Window(p.worker).Enter(f.Seq, f.Acked)
	if err != nil {
		return err
	}
	if !seen {
		p.request = request
		request.Carry(p.positions)
		if c.admit(f, p); request.Refusal != nil {
			c.st.Broadcast() // to the repetitions of this push
		}
	}
	next := mode.Round(f.Round) + 1
	err = c.st.AwaitWorkers(c.st.Mode.Missing, func() bool { return request.Done },
		func() string { return c.st.Missing(next) })
	if err != nil {
		if !errors.Is(err, wire.ErrNotReady) {
			c.st.Fail(err)
		}
		c.st.AwaitIdle()
		return err
	}
	// Again makes the worker count the outcome of a repeated push once.
	outcome := request.Outcome
	outcome.Again = seen
	answer.SetOutcome(outcome)
	if request.Refusal != nil {
		return request.Refusal
	}
	return c.st.AwaitRound(next)
}

// admit gives a new gradient to its round. The caller holds the lock, which is released while admit waits for its turn.
// A gradient that can't be admitted is refused for good: its number stays in the window with the refusal, so that a
// repeated push gets the same answer and is not tried again when something has changed. A gradient for a round that is
// over leaves its number free, for a later push.
func (c *pushing) admit(f *wire.Frame, p *push) {
	c.pieces.used(p)
	if p.incomplete != nil {
		c.refuse(p, p.incomplete)
		return
	}
	if err := c.st.AwaitTurn(f); err != nil {
		p.request.Refuse(err)
		return
	}
	p.grad.Watches, p.grad.Pulled = c.changed.watches(p.worker), c.delays.of(p.worker)
	if !c.pieces.summing.on {
		c.rounds.push(p, mode.Round(f.Round))
		return
	}
	if err := c.pieces.summing.step(f, p); err != nil {
		c.refuse(p, err)
	}
}

// refuse refuses a push that is not noted, for good unless its sender is to begin again. The caller holds the lock.
func (c *pushing) refuse(p *push, err error) {
	if errors.Is(err, wire.ErrAgain) {
		c.roster.Window(p.worker).Withdraw(p.request, err)
	} else {
		p.request.Refuse(err)
	}
}

// park notes that a worker has no more batches in this phase. It has a sequence number among the worker's pushes, so
// that it counts once and after them. It does not wait until the phase ends: the next pull does.
func (c *pushing) park(f *wire.Frame) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.st.Sender(f); err != nil {
		return err
	}
	request, seen, err := c.roster.Window(int(f.Worker)).Enter(f.Seq, f.Acked)
	if err != nil {
		return err
	}
	if seen { // an answer says that the park counts: the first request may wait for its turn yet
		if err := c.st.Await(func() bool { return request.Done }, c.st.Holder); err != nil {
			return err
		}
		return request.Refusal
	}
	if err = c.st.AwaitTurn(f); err == nil {
		err = c.rounds.park(int(f.Worker), f.Life, mode.Round(f.Round), request)
	}
	if err != nil {
		c.roster.Window(int(f.Worker)).Withdraw(request, err)
		c.st.Broadcast() // to the repetitions of this park
	}
	return err
}
