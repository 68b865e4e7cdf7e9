package server

import (
	"fmt"
	"log/slog"

	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
)

// membership lets workers join, live and leave. What the roster decides it tells all who keep something for a worker's life.
//
// A worker joins at server 0, which numbers its life, and then says hello to the others with that number. So servers learn of
// a new process one after the other, and some may still take what the process before has sent; that process is gone, and what
// it had sent counts as any push of a worker that died.
type membership struct {
	st          *state
	rounds      *rounds
	pieces      *pieces
	changed     *changed
	delays      *delays
	loading     *loading
	recovery    *recovery
	index       int
	fingerprint layout.Fingerprint
	log         *slog.Logger
}

// join begins a life of a worker: on server 0 the next one, elsewhere the life that server 0 gave.
func (c *membership) join(f *wire.Frame, hello *wire.Hello, r *reply) error {
	me, sender := fmt.Sprintf("server %d", c.index), fmt.Sprintf("worker %d", f.Worker)
	if d := c.fingerprint.Difference(me, hello.Fingerprint, sender); d != "" {
		return wire.Refuse(wire.StatusMismatch, "%s builds another job than %s: %s", sender, me, d)
	}
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if n := c.st.roster.Workers(); int64(f.Worker) >= int64(n) {
		return wire.Refuse(wire.StatusMismatch, "server %d has workers 0 to %d, and this is worker %d: "+
			"give all processes the same number of workers (PADDLE_TRAINERS_NUM)", c.index, n-1, f.Worker)
	}
	worker, life := int(f.Worker), f.Life
	if f.Op == wire.OpJoin {
		life = c.st.roster.Life(worker, hello.Process)
	}
	if err := c.begin(worker, life); err != nil {
		return err
	}
	return r.JSON(wire.Welcome{Life: life, Round: uint64(c.st.mode.Open()), Published: c.st.published,
		From: c.loading.from, Origin: c.loading.origin, Progress: c.recovery.progress})
}

// begin makes a life the current one of a worker. Nothing that the life before has begun goes on: its save would hold pushes
// until their wait times out, since the new life shows that the worker lives. Locked.
func (c *membership) begin(worker int, life uint32) error {
	began, err := c.st.roster.Begin(worker, life, c.st.clock.Now())
	if err != nil || !began {
		return err
	}
	c.st.cut.Leave(worker)
	c.rounds.begin(worker)
	c.pieces.forget(worker)
	c.delays.forget(worker)
	c.loading.forget(worker)
	if err := c.changed.begin(worker); err != nil {
		return err
	}
	c.log.Info("worker joined", "worker", worker, "life", life)
	c.st.lock.broadcast()
	return nil
}

// heartbeat answers a worker that shows life.
func (c *membership) heartbeat(f *wire.Frame) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if err := c.st.sender(f); err != nil {
		return err
	}
	return c.st.lock.failure
}

// leave takes note that a worker has stopped. It may be said twice.
func (c *membership) leave(f *wire.Frame) error {
	c.st.lock.Lock()
	defer c.st.lock.Unlock()
	if c.st.roster.HasLeft(&f.Header) {
		return nil
	}
	if err := c.st.sender(f); err != nil {
		return err
	}
	c.log.Info("worker stopped", "worker", f.Worker)
	c.st.roster.Leave(int(f.Worker))
	c.depart(int(f.Worker), false)
	return nil
}

// depart ends what a worker that is gone had a part in, and lets the round go on without it; with forget, without what it has
// pushed for that round. Locked.
func (c *membership) depart(worker int, forget bool) {
	c.pieces.forget(worker)
	c.changed.end(worker)
	c.st.cut.Leave(worker)
	c.rounds.leave(worker, forget)
	c.st.lock.broadcast()
}
