package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// membership lets workers join, live and leave. It passes the roster's decisions to every part that keeps something for
// a worker's life.
//
// A worker joins at server 0, which numbers its life, and then says hello to the other servers with that number. So
// servers learn of a new process one after the other, and some may still take requests of the process before; that
// process is gone, and its requests count as any of a worker that died.
type membership struct {
	st *state.Job
	// The parts below keep something for a worker's life, or must end what it has begun.
	rounds    *rounds
	pieces    *pieces
	changed   *changed
	delays    *delays
	loading   *loading
	recovery  *recovery
	room      *room
	epochs    *epochs
	leading   *leading
	gathering *gathering
	lives     state.Event[roster.SavedLife] // numbered by server 0
	begins    state.Event[wire.Leave]       // a life of a worker begins
	leaves    state.Event[wire.Leave]
	ends      state.Event[endRecord]
	lines     *lines
	// index is the index of this server.
	index int
	// back is set in modes in which all roles go back to a checkpoint when a worker dies.
	back        bool // no worker goes on without the others
	differences *differences
	// hearOut waits for the workers in unsaid when the server ends.
	unsaid map[int]bool  // workers that have stopped, as another server reports, and have not reported it here
	ended  chan struct{} // has an element when a worker has announced its end; the watch for deaths looks then
	log    *slog.Logger
}

// endRecord is the end of a worker's life before its work is done.
type endRecord struct {
	Worker  int    `json:"worker"`
	Why     string `json:"why"`
	Returns bool   `json:"returns,omitempty"`
}

// register makes the workers of the job, and which of their requests count, survive a kill.
func (c *membership) register(m *state.Memory) {
	state.TryFact(m, "roster", c.st.Roster.Save, c.resume)
	c.lives = state.AddEvent(m, "life", func(l roster.SavedLife) { c.st.Roster.Lives.Recall(l, c.st.Now()) })
	c.begins = state.TryEvent(m, "begin", func(_ context.Context, l wire.Leave) error {
		return c.admit(l.Worker, l.Life)
	})
	c.leaves = state.AddEvent(m, "left", func(l wire.Leave) { c.gone(l.Worker) })
	c.ends = state.AddEvent(m, "ends", func(e endRecord) { c.st.Roster.End(e.Worker, e.Why, e.Returns) })
}

// resume restores the roster. If workers train copies, all rows are new to them. The caller holds the lock. A worker
// that was in the job is in it again, and its silence counts from now.
func (c *membership) resume(then roster.Saved) error {
	c.st.Roster.Return(then, c.st.Now())
	for w := range c.st.Roster.Workers() {
		if _, lives := c.st.Roster.Living(w); lives {
			if err := c.changed.reset(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// join begins a life of a worker: on server 0 the next one, on other servers the life that server 0 gave. The answer
// has what the worker starts from: its life and the key for it, the open round, its positions, and what the tables were
// loaded from.
func (c *membership) join(f *wire.Frame, hello *wire.Hello, r *state.Reply) error {
	me, sender := fmt.Sprintf("server %d", c.index), fmt.Sprintf("worker %d", f.Worker)
	if err := c.differences.refusal(me, hello.Fingerprint, sender, hello.Build); err != nil {
		return err
	}
	c.st.Lock()
	defer c.st.Unlock()
	if n := c.st.Roster.Workers(); int64(f.Worker) >= int64(n) {
		return wire.Refuse(wire.StatusMismatch, "server %d has workers 0 to %d, and this is worker %d: "+
			"give all processes the same number of workers (PADDLE_TRAINERS_NUM)", c.index, n-1, f.Worker)
	}
	if err := c.leading.settled(); err != nil {
		return err
	}
	g := c.st.Generation()
	life, err := c.life(f, g, hello.Process)
	if err != nil {
		return err
	}
	err = c.admit(int(f.Worker), life)
	if errors.Is(err, wire.ErrWentBack) {
		err = c.replaced(int(f.Worker), err)
	}
	if err != nil {
		return err
	}
	c.lines.heard(int(f.Worker), life, r)
	w := wire.Welcome{Life: life, Job: g.Life(f.Worker, life), Round: uint64(c.st.Mode.Open()),
		Published: c.st.Published, From: c.loading.from, Origin: c.loading.origin, Shares: c.recovery.shares,
		Steps: c.recovery.steps, Positions: c.st.Roster.Positions(int(f.Worker)),
		Gathers: c.gathering.behind(int(f.Worker)), Loads: c.st.Loads}
	c.epochs.welcome(int(f.Worker), &w)
	return r.JSON(w)
}

// replaced returns the refusal of a process that can't take the place of a worker's life in lockstep, since it has
// missed heartbeats. The earlier life is over, and is no longer waited for. If all roles go back then, the new process
// tries again until the next run of the job begins. The caller holds the lock.
func (c *membership) replaced(worker int, refusal error) error {
	_, alive := c.st.Roster.Living(worker)
	switch {
	case c.st.Roster.Parting(worker) && c.back: // decided when the others have had time to announce their ends too
		return wire.Refuse(wire.StatusNotReady, "worker %d has ended, and all roles go back to the last checkpoint",
			worker)
	case c.st.Returned: // other lives may have ended while this server was away: no job is left
		c.st.Fail(refusal)
		return c.st.Failure
	case alive && c.back:
		c.st.Fail(refusal)
		return wire.Refuse(wire.StatusNotReady, "server %d is about to end: %v", c.index, c.st.Failure)
	case alive:
		c.over(worker, wire.Ending{Why: "another process came in its place"})
	}
	return refusal
}

// life returns the life of a worker that joins. Server 0 numbers lives; other servers accept the number of a worker
// that has the proof of it. The caller holds the lock. Server 0's number is above all numbers of the worker's earlier
// lives, so that their requests are refused.
func (c *membership) life(f *wire.Frame, g *roster.Generation, process uint64) (uint32, error) {
	switch {
	case g == nil:
		return 0, wire.Refuse(wire.StatusNotReady, "server %d waits for server 0: is it running?", c.index)
	case c.st.Failure != nil: // this run of the job is over, and the new process is of the next
		return 0, wire.Refuse(wire.StatusNotReady, "server %d is about to end: %v", c.index, c.st.Failure)
	case f.Op == wire.OpJoin && c.index == 0:
		life, err := c.st.Roster.Lives.Number(int(f.Worker), process, c.st.Now())
		if err == nil {
			c.lives.Note(roster.SavedLife{Worker: int(f.Worker), Process: process, Number: life})
		}
		return life, err
	case f.Op == wire.OpJoin:
		return 0, wire.Refuse(wire.StatusRefused, "server %d numbers no lives: workers join at server 0", c.index)
	case f.Job != g.Life(f.Worker, f.Life):
		return 0, wire.Refuse(wire.StatusNotReady, "server %d and worker %d are of two runs of the job, of which one "+
			"is about to end",
			c.index, f.Worker)
	}
	return f.Life, nil
}

// admit makes a life the current one of a worker, and ends everything that the life before has begun: its save, for
// instance, would hold pushes until their wait times out, since the new life shows that the worker lives. The caller
// holds the lock.
func (c *membership) admit(worker int, life uint32) error {
	began, err := c.st.Roster.Begin(worker, life, c.st.Now())
	if err != nil || !began {
		return err
	}
	c.begins.Note(wire.Leave{Worker: worker, Life: life})
	c.leading.gone(worker, "its worker was started again")
	c.rounds.reset(worker)
	c.pieces.forget(worker)
	c.delays.forget(worker)
	c.loading.forget(worker)
	if err := c.changed.reset(worker); err != nil {
		return err
	}
	c.log.Info("worker joined", "worker", worker, "life", life)
	c.st.Broadcast()
	return nil
}

// heartbeat answers a worker's sign of life, and reports whether the worker is to save a checkpoint, and what requests
// wait for. A refusal ends the worker's client, unless its status is "not ready".
func (c *membership) heartbeat(f *wire.Frame, r *state.Reply) error {
	c.st.Lock()
	defer c.st.Unlock()
	err := c.st.Sender(f)
	switch {
	case c.lacks(f):
		return c.st.Failure
	case err != nil:
		return err
	case c.st.Failure != nil:
		return c.st.Failure
	}
	c.st.Roster.Waits(int(f.Worker), f.Samples > 0)
	c.st.Roster.Savers.Beats(int(f.Worker), f.Seq == wire.Asked)
	c.lines.heard(int(f.Worker), f.Life, r)
	beat := wire.Beat{Save: c.recovery.asks(int(f.Worker)), Evict: c.room.asks(int(f.Worker))}
	beat.Waits, beat.Computes = c.st.Oldest()
	if beat == (wire.Beat{}) {
		return nil
	}
	return r.JSON(beat)
}

// lacks fails the job if this server has come back without all that it had acknowledged to the sender of a heartbeat.
// Each heartbeat has the number of its worker's requests that this server has acknowledged; a server that came back may
// have lost the last of them with its machine. The caller holds the lock.
func (c *membership) lacks(f *wire.Frame) bool {
	if !c.st.Returned || int64(f.Worker) >= int64(c.st.Roster.Workers()) {
		return false
	}
	if !c.st.Roster.Lacks(&f.Header, c.st.Published && c.loading.counts(f.Worker)) {
		c.st.Broadcast() // a cut may wait for that
		return false
	}
	c.st.Fail(wire.Refuse(wire.StatusBack, "server %d was started again, and its journal lacks what worker %d "+
		"had an answer to: start the job again from its last checkpoint", c.index, f.Worker))
	return true
}

// leave notes that a worker has stopped. The request may come twice. A leave that waited for a decision about a death
// counts only if its worker is still in the job.
func (c *membership) leave(f *wire.Frame) error {
	c.st.Lock()
	defer c.st.Unlock()
	if c.st.Roster.HasLeft(&f.Header) {
		delete(c.unsaid, int(f.Worker))
		c.st.Broadcast()
		return nil
	}
	if err := c.st.Sender(f); err != nil {
		return err
	}
	_, early := f.Blob()
	switch {
	case early:
		return c.early(f)
	case f.Seq > 0 || f.Samples > 0 || len(f.Sections) > 0:
		return wire.Refuse(wire.StatusRefused, "worker %d says that it has stopped, in a frame that has more than that",
			f.Worker)
	}
	if err := c.st.Await(func() bool { return !c.st.Roster.Deciding() }, c.st.Holder); err != nil {
		return err
	}
	if c.st.Roster.HasLeft(&f.Header) {
		return nil
	}
	if err := c.st.Roster.Stays(&f.Header); err != nil {
		return err
	}
	c.stopped(int(f.Worker), f.Life)
	return nil
}

// stopped takes a worker out that has stopped. The caller holds the lock. Its rounds go on without it, with what it has
// pushed.
func (c *membership) stopped(worker int, life uint32) {
	c.log.Info("worker stopped", "worker", worker)
	c.leaves.Note(wire.Leave{Worker: worker, Life: life})
	c.gone(worker)
}

// gone is stopped without the record, for the replay of that record too. The caller holds the lock.
func (c *membership) gone(worker int) {
	c.st.Roster.Leave(worker)
	c.depart(worker, false)
}

// left notes which workers have stopped, as another server reports: a worker that was killed while it said goodbye to
// the servers has said nothing here, and must not be declared dead. It has sent nothing since its first goodbye. The
// caller holds the lock.
func (c *membership) left(all []uint32) {
	if c.st.Roster.Deciding() {
		return // the report is repeated
	}
	for w := range min(len(all), c.st.Roster.Workers()) {
		if life, lives := c.st.Roster.Living(w); lives && life == all[w] {
			c.unsaid[w] = true
			c.stopped(w, life)
		}
	}
}

// goodbyeGrace is how long a server that ends waits for goodbyes.
const goodbyeGrace = time.Second

// hearOut waits a moment for the goodbyes of workers that have stopped, as other servers report: a worker that found no
// listener would expect a server with a journal to come back. Run calls it after the farewell, while the server still
// listens.
func (c *membership) hearOut() {
	c.st.Lock()
	defer c.st.Unlock()
	_ = c.st.Poll(goodbyeGrace, func() bool { return len(c.unsaid) == 0 }) // a worker without a goodbye has died
}

// early notes that a worker ends before its work is done. Server 0 declares it dead, at once if others wait for it;
// servers that end do not wait for it. If the worker's end makes all roles go back, they go back here too: a server
// that saw only the worker's death would end as if nothing were lost. The caller holds the lock. The worker reports its
// end to each server.
func (c *membership) early(f *wire.Frame) error {
	var msg wire.Ending
	if err := f.JSON(&msg); err != nil {
		return err
	}
	c.over(int(f.Worker), msg)
	return nil
}

// over notes that a worker's life is over before its work is done. The caller holds the lock. The worker is out of the
// job only when server 0 has decided so; over wakes the watch that decides.
func (c *membership) over(worker int, msg wire.Ending) {
	c.log.Warn("worker ends before its work is done", "worker", worker, "why", msg.Why)
	c.ends.Note(endRecord{worker, msg.Why, msg.Returns})
	c.st.Roster.End(worker, msg.Why, msg.Returns)
	if msg.Back != "" {
		c.st.Fail(wire.Refuse(wire.StatusBack, "worker %d was told: %.300s", worker, msg.Back))
	}
	c.st.Broadcast()
	select {
	case c.ended <- struct{}{}:
	default: // a wake-up is pending
	}
}

// depart ends what a worker that is gone had a part in, and lets the round go on without it; with forget, also without
// its gradient for that round. The caller holds the lock. depart and admit inform all parts that keep something for a
// life.
func (c *membership) depart(worker int, forget bool) {
	c.pieces.forget(worker)
	c.changed.end(worker)
	c.leading.gone(worker, "its worker has left")
	c.rounds.leave(worker, forget)
	c.st.Broadcast()
}
