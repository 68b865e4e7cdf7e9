package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
)

// leading leads cuts on server 0, as the state machine of package cut decides: it takes workers' requests, writes the
// machine's records, and sends its orders to all servers, this one included.
//
//	anchor            server 0                                all servers
//	  cut ────────────> hold ──────────────────────────────────> pushes wait
//	                    reach ─────────────────────────────────> the steps of the cut are in the tables
//	                    (intent in the journal) end ───────────> a period ends, once by its name
//	  <──────── whole   (done in the journal)   free ──────────> pushes go on
//
// An order is sent to a server until it is answered, or until another order replaces it. If a server could not be
// reached for as long as one may be away, the machine decides what follows.
type leading struct {
	st       *state.Job
	leader   *cut.Leader // nil on other servers
	peers    *state.Peers
	holding  *holding
	saving   *saving
	recovery *recovery
	epochs   *epochs
	led      *led
	frozen   *frozen
	journal  *state.Journal
	records  state.Event[cut.Record]
	// life ends all attempts: when the server closes, or the job has failed.
	life  context.Context // of the server
	begun bool            // orders are sent; before, a journal is replayed
	// orders are guarded by the lock; an order in the list never changes.
	orders []*cut.Order // by server: not answered yet
	// preparing are calls, by their ids, whose cuts have not begun.
	preparing map[string]*prepared
	// withdraw ends the attempt under way for each server's order; nil if no goroutine delivers to that server.
	withdraw []context.CancelFunc
	under    sync.WaitGroup
}

// register makes the cuts that server 0 led, and must finish, survive a kill. After a replayed load a checkpoint is
// still wanted: the records that follow need the loaded directory.
func (c *leading) register(m *state.Memory) {
	if c.leader == nil {
		return
	}
	state.AddFact(m, "cuts", func() []cut.Record {
		if last, _ := c.leader.Report(); last == 0 {
			return nil
		}
		return c.leader.Facts()
	}, func(then []cut.Record) {
		for _, r := range then {
			c.leader.Recall(r)
		}
	})
	c.records = state.AddEvent(m, "cut", func(r cut.Record) {
		c.leader.Recall(r)
		if r.Done != nil && r.Done.Why == "" && r.Done.Ask.Task.Plan().Final() == cut.Take {
			c.recovery.want() // as in the process before: no checkpoint in the journal has what was loaded
		}
	})
}

// begin goes on with the cut that the process before was bound to finish. Run calls it when the server listens. It does
// nothing on other servers.
func (c *leading) begin() {
	c.st.Lock()
	defer c.st.Unlock()
	if c.begun = c.leader != nil; !c.begun {
		return
	}
	if number, plan := c.leader.Resume(); number != 0 {
		c.st.Follower.Resume(number, plan)
	}
	c.do()
}

// ask reports to a worker how far its cut is: when there is news, or after a while without. The worker asks again at
// once, so that patience bounds a request and no cut. The first request of a call waits, as a pull does, for the round
// that its worker is in.
func (c *leading) ask(f *wire.Frame, a *cut.Ask, r *state.Reply) error {
	if a.Number == 0 && !a.GivesUp { // later requests wait for their cut alone
		if !a.Early {
			if err := c.st.Enter(f); err != nil {
				return err
			}
		}
		ready, err := c.prepare(f, a)
		if err != nil || a.Early || !ready {
			return cmp.Or(err, r.JSON(cut.Told{Ready: ready}))
		}
	}
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.admit(f, a); err != nil {
		return err
	}
	if err := c.place(a); err != nil {
		c.leader.Fail(a, err)
		c.do()
		return err
	}
	var told cut.Told
	err := c.st.Poll(c.holding.patience, func() bool {
		if told.Err = c.st.Roster.Stays(&f.Header); told.Err == nil {
			told = c.leader.Ask(a)
			c.do()
		}
		return told.News(a)
	})
	if err == nil {
		err = told.Err
	}
	if err != nil {
		return err
	}
	return r.JSON(told)
}

// admit reports whether this server leads such a cut for the sender. The caller holds the lock. It sets the ask's
// worker to the frame's, which the door has checked, and the epochs that workers have begun.
func (c *leading) admit(f *wire.Frame, a *cut.Ask) error {
	if err := c.st.Sender(f); err != nil {
		return err
	}
	if c.leader == nil {
		return wire.Refuse(wire.StatusRefused, "cuts are led by server 0, and this is server %d", c.peers.Index)
	}
	a.Worker, a.Begun = int(f.Worker), append(c.epochs.known(), c.led.known()...)
	return nil
}

// prepare does the slow work of a new call before the cut, so that no push waits for it: it claims the directory that a
// worker names for a checkpoint, and looks for the base of the next of the job's own. A disk or a store may take longer
// than a request may: then ready is false, and the worker asks again.
func (c *leading) prepare(f *wire.Frame, a *cut.Ask) (ready bool, err error) {
	c.st.Lock()
	err = c.admit(f, a)
	if err != nil || c.leader.Knows(a.ID) || a.Task.Save == nil {
		c.st.Unlock()
		return true, err
	}
	p := c.preparing[a.ID]
	if p == nil {
		if len(c.preparing) >= mostPreparing { // of workers that have died since
			clear(c.preparing)
		}
		p = &prepared{over: make(chan struct{})}
		c.preparing[a.ID] = p
		c.under.Go(func() {
			defer close(p.over)
			if dir := a.Task.Save.Dir; dir != "" {
				p.err = c.recovery.claims.Take(c.life, dir)
			} else {
				c.recovery.series.Look(c.life)
			}
		})
	}
	c.st.Unlock()
	timer := time.NewTimer(c.holding.patience)
	defer timer.Stop()
	select {
	case <-p.over:
	case <-timer.C:
		return false, nil
	case <-c.life.Done():
		return false, context.Cause(c.life)
	}
	c.st.Lock()
	defer c.st.Unlock()
	if !a.Early || p.err != nil {
		delete(c.preparing, a.ID)
		return true, p.err
	}
	// Steps of a worker wait from its asking on, and need not wait for the cut before, whose files are being written.
	err = c.st.Poll(c.holding.patience, func() bool {
		_, under := c.leader.Report()
		ready = under == 0
		return ready
	})
	return ready, err
}

// mostPreparing bounds the calls whose cuts have not begun; one that is forgotten prepares again.
const mostPreparing = 64

// prepared is what a call needs before its cut. over is closed when it is there.
type prepared struct {
	over chan struct{}
	err  error
}

// place adds the checkpoint's directory to the progress that its worker brings, when all servers hold: the job's own
// directories are numbered in the order of cuts. The caller holds the lock, which is released while a directory is
// made. An error gives the cut up. A repeated request may call it twice; the directory is made once for each call.
func (c *leading) place(a *cut.Ask) error {
	if !c.leader.Speaks(a) || a.Knows != cut.Held {
		return nil
	}
	if err := c.frozen.complete(a.ID); err != nil {
		return err
	}
	save := a.Task.Save
	if own := save.Progress != nil; own {
		*save.Progress = c.epochs.further(*save.Progress)
		c.recovery.begins(c.holding.fileID(a.Number), c.holding.part.Updates.Version())
		c.st.Unlock()
		dir, err := c.recovery.own(a.ID)
		c.st.Lock()
		if err != nil {
			return err
		}
		save.Dir = dir
		if !c.leader.Speaks(a) { // the request came twice, or the cut was given up
			return nil
		}
		if base := c.recovery.series.Base(c.leader.Whole()); base != nil {
			save.Base = base.ID
		}
	}
	if save.Dir == "" {
		return wire.Refuse(wire.StatusRefused, "a checkpoint of worker %d has neither a directory nor progress",
			a.Worker)
	}
	return nil
}

// seal makes a checkpoint of the parts that all servers have written. It runs on a goroutine of its own, since a commit
// writes files, and reports the outcome to the machine.
func (c *leading) seal(s *cut.Sealing) {
	s.Save.ID = c.holding.fileID(s.Number)
	err := c.saving.seal(s)
	c.st.Lock()
	defer c.st.Unlock()
	c.leader.Sealed(s.Number, err)
	c.do()
	c.st.Broadcast()
}

// gone gives up the cut of a worker that has left, or whose place another life takes. The caller holds the lock. Work
// that can't be undone goes on without its anchor.
func (c *leading) gone(worker int, why string) {
	if c.leader != nil {
		c.leader.Gone(worker, why)
		c.do()
	}
}

// settled waits until no work is under way that can't be undone. The caller holds the lock. Joining workers and deaths
// wait for it: no worker may come or go during such work.
func (c *leading) settled() error {
	if c.leader == nil || !c.leader.Irrevocable() {
		return nil // also if the job has failed, which others report
	}
	return c.st.Await(func() bool { return !c.leader.Irrevocable() },
		func() string { return "for all servers to end a cut" })
}

// dying is gone for a worker that is about to be declared dead. Until died is called, no work begins that can't be
// undone.
func (c *leading) dying(worker int) error {
	c.st.Lock()
	defer c.st.Unlock()
	if err := c.settled(); err != nil {
		return err
	}
	c.leader.Dying()
	c.gone(worker, "it is dead")
	return nil
}

// died ends what dying has begun.
func (c *leading) died() {
	c.st.Lock()
	defer c.st.Unlock()
	c.leader.Died()
	c.do()
}

// do executes what the machine wants, records first. The caller holds the lock. Every change of the machine is followed
// by do without releasing the lock, so that nothing is ordered before its record. If the journal must survive a
// machine, attempt also waits until the record does.
func (c *leading) do() {
	if !c.begun {
		return
	}
	todo := c.leader.Todo()
	for _, r := range todo.Note {
		c.records.Note(r)
		if r.Done != nil && r.Done.Why == "" {
			c.over(r.Done)
		}
	}
	for _, s := range todo.Send {
		c.send(s)
	}
	if todo.Seal != nil {
		c.under.Go(func() { c.seal(todo.Seal) })
	}
	if todo.Fail != nil {
		c.st.Fail(todo.Fail)
	}
	if len(todo.Note)+len(todo.Send) > 0 {
		c.st.Broadcast()
	}
}

// over handles a call that has reached its end. The caller holds the lock. It updates the wish for a checkpoint: a load
// makes one, and a save that found a checkpoint of the same steps fulfils one.
func (c *leading) over(d *cut.Done) {
	_, under := c.leader.Report()
	switch plan := d.Ask.Task.Plan(); {
	case plan.Final() == cut.Take: // no checkpoint has it yet, and a process that comes back needs the directory
		c.recovery.want()
	// another checkpoint was of the same moment
	case plan.Has(cut.Write) && plan.Final() == "" && d.Ask.Task.Save.Dir == "" && d.Number != under:
		c.recovery.satisfied()
	}
}

// send starts sending an order, in place of the one before. The caller holds the lock. One goroutine for each server
// delivers its orders, and ends when there is none.
func (c *leading) send(s cut.Sending) {
	c.orders[s.To] = s.Order
	if withdraw := c.withdraw[s.To]; withdraw != nil {
		withdraw()
		return
	}
	c.withdraw[s.To] = func() {}
	c.under.Go(func() { c.deliver(s.To) })
}

// deliver sends the orders of a server, until all are answered. An order may take as long as any wait, and a server may
// be away as long as any.
func (c *leading) deliver(to int) {
	var last *cut.Order
	var began, reached time.Time
	for {
		o, ctx := c.next(to)
		if o == nil {
			return
		}
		if o != last {
			last, began, reached = o, time.Now(), time.Now()
		}
		a, err := c.attempt(ctx, to, o)
		late := time.Since(began) > c.st.Limit+c.peers.Away
		switch {
		case ctx.Err() != nil: // another order replaced this one, or the server ends
		case err == nil && a.Work != "":
			c.answered(to, o, a)
		case errors.Is(err, wire.ErrWentBack):
			c.st.Lock()
			c.st.Fail(err)
			c.st.Unlock()
		case late && err == nil:
			c.unreachable(to, o, fmt.Errorf("it has not come to %q within %v", o.Work,
				time.Since(began).Round(time.Second)))
		case late || err != nil && time.Since(reached) > c.peers.Away:
			c.unreachable(to, o, err)
		case err == nil: // it has not finished yet
			reached = time.Now()
		default:
			_ = awake.Rest(ctx, c.peers.Timeout/100)
		}
	}
}

// next returns the order to send, nil if there is none, with a context that ends when another order replaces it. Only
// deliver calls it, so that at most one context for each server is alive.
func (c *leading) next(to int) (*cut.Order, context.Context) {
	c.st.Lock()
	defer c.st.Unlock()
	if c.withdraw[to] != nil {
		c.withdraw[to]()
	}
	if c.orders[to] == nil || c.life.Err() != nil {
		c.withdraw[to] = nil
		return nil, nil
	}
	ctx, cancel := context.WithCancel(c.life)
	c.withdraw[to] = cancel
	return c.orders[to], ctx
}

// attempt sends an order once. An answer without a work means that the server has not finished yet. Server 0 executes
// its own order by a call.
func (c *leading) attempt(ctx context.Context, to int, o *cut.Order) (*cut.Answer, error) {
	if c.journal.Durably {
		if err := c.journal.Durable(); err != nil {
			return nil, err
		}
	}
	if to == c.peers.Index {
		return c.holding.answer(o, func() bool { return ctx.Err() != nil })
	}
	a := new(cut.Answer)
	attempt, err := c.peers.Request(to, wire.OpOrder, o, a)
	if err == nil {
		_, err = attempt(ctx)
	}
	return a, err
}

// answered passes a server's answer to the machine, and executes what it wants then. An order that has replaced this
// one stays.
func (c *leading) answered(to int, o *cut.Order, a *cut.Answer) {
	c.st.Lock()
	defer c.st.Unlock()
	if c.orders[to] == o {
		c.orders[to] = nil
	}
	c.leader.Answered(to, a)
	c.do()
	c.st.Broadcast()
}

// unreachable informs the machine that an order was not answered in time, and why.
func (c *leading) unreachable(to int, o *cut.Order, err error) {
	c.st.Lock()
	defer c.st.Unlock()
	if c.orders[to] == o {
		c.orders[to] = nil
	}
	c.leader.Unreachable(to, err)
	c.do()
	c.st.Broadcast()
}
