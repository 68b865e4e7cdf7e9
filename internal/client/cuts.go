package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// cuts makes servers hold pushes at the same steps of every worker, so that something can be done on all servers at one
// point between steps. Server 0 leads a cut; the worker that asks for it is its anchor, here this worker. Package cut
// has the state machine; this file has the worker's requests and what it does at each stage.
type cuts struct {
	link *link
	// made counts the cuts that this process has asked for, so that each has an id of its own.
	made atomic.Int64
}

// call is a cut that this worker asks server 0 for, and what the worker does in it.
type call struct {
	task cut.Task
	// id is the call's name if server 0 knows it already; see early.
	id string
	// as is done once by its name, nil for what has none.
	as *progress.Deed
	// held runs when all servers hold pushes, and sets what a checkpoint holds beside the weights.
	held func(id string, save *cut.Save) error
	// taken runs when servers have their images and write them: this worker's steps may go on.
	taken func()
	// read reads what servers have listed in the cut of that number, and returns the chain with the model that it made.
	read func(number uint64, said [][]byte) (wire.Chain, error)
}

// lead asks server 0 to lead a cut. It repeats the request, each time with what the worker has received so far, and
// returns when the cut is complete, given up, or failed. If ctx ends before servers were ordered to do what can't be
// taken back, the cut is given up; else lead returns when the cut is complete. The caller has the worker's turn. A call
// that waits in server 0's queue for longer than the strategy's WaitTimeout is given up with an error.
//
// said has one text for each server, in the order of servers; the plan defines its meaning. An error that wraps
// wire.ErrStale means that the cut was given up or is unknown; repeat may then begin another.
func (k *cuts) lead(ctx context.Context, c call) (said [][]byte, err error) {
	ask := cut.Ask{ID: cmp.Or(c.id, k.id()), Worker: k.link.worker, Task: c.task, Deed: c.as.Named()}
	final := c.task.Plan().Final()
	over, began := false, time.Now()
	defer func() {
		if !over { // goOn has panicked, or ended its goroutine
			k.giveUp(ask, new(cut.Told))
		}
	}()
	for wanted := ctx; ; {
		over = true
		var told cut.Told
		err := k.link.control(wanted, 0, wire.OpCut, &ask, &told)
		switch {
		case err != nil && ctx.Err() != nil && wanted == ctx:
			bound := ask.Ends && final != ""                   // servers may have begun the final work
			if !bound && k.giveUp(ask, &told) || final == "" { // servers finish what they write
				return nil, context.Cause(ctx)
			}
			wanted = k.link.ctx
		case errors.Is(err, wire.ErrStale): // it is given up
			return nil, err
		case err != nil:
			k.giveUp(ask, new(cut.Told))
			return nil, err
		}
		if told.Stage == cut.Whole {
			if told.Before {
				c.as.Said, c.as.Before = told.Said, true
			}
			return told.Said, nil
		}
		over = false
		err = c.goOn(&ask, &told)
		if limit := k.link.strategy.WaitTimeout.Std(); err == nil && ask.Knows == cut.Queued &&
			time.Since(began) > limit {
			err = fmt.Errorf("server 0 has led other cuts for %v (WaitTimeout is %v): do other workers save, read or "+
				"load without an end?", time.Since(began).Round(time.Second), limit)
		}
		if over = true; err != nil {
			k.giveUp(ask, new(cut.Told))
			return nil, err
		}
	}
}

// early has server 0 do what takes long before the cut of a checkpoint, while this worker's steps go on: a store may be
// slow. It logs a long wait once.
func (k *cuts) early(ctx context.Context, c *call) error {
	c.id = k.id()
	ask := cut.Ask{ID: c.id, Worker: k.link.worker, Task: c.task, Early: true}
	said := false
	for began := time.Now(); ; {
		var told cut.Told
		if err := k.link.control(ctx, 0, wire.OpCut, &ask, &told); err != nil || told.Ready {
			return err
		}
		switch waited, limit := time.Since(began), k.link.strategy.WaitTimeout.Std(); {
		case waited > limit:
			return fmt.Errorf("server 0 has led other cuts for %v, or looked for its place on a slow disk or store "+
				"(WaitTimeout is %v): do other workers save, read or load without an end?", waited.Round(time.Second),
				limit)
		case waited > slowPlace && !said:
			said = true
			k.link.log.Warn("a checkpoint has not begun, since its disk or store is slow, and training goes on", "dir",
				cmp.Or(c.task.Save.Dir, k.link.strategy.Recovery.Dir), "waited", waited.Round(time.Second))
		}
	}
}

// slowPlace is how long server 0 may look for a checkpoint's place before that is logged.
const slowPlace = 5 * time.Second

// goOn does the worker's work at a stage of its cut, and puts the result into the next request. It skips a stage that
// it has handled. If server 0 was restarted and does not have the number, the call begins again under its old id;
// server 0's journal shows whether it was done. A worker that has gone on with its steps gives the call up instead,
// since the next cut must begin between two of them.
func (c *call) goOn(ask *cut.Ask, told *cut.Told) (err error) {
	switch {
	case told.Anew && ask.Knows == cut.Reached && c.taken != nil:
		return wire.Refuse(wire.StatusStale, "cut %s was given up (server 0 was started again): begin again", ask.ID)
	case told.Anew:
		told.Number, told.Stage = 0, cut.Queued
	case !told.News(ask):
		return nil
	}
	ask.Number, ask.Knows, ask.Ends, ask.Task = told.Number, told.Stage, false, c.task
	switch {
	case ask.Knows == cut.Held:
		save := *c.task.Save
		ask.Task.Save = &save
		err = c.held(ask.ID, &save)
	case ask.Knows == cut.Reached && c.read != nil:
		var now wire.Chain
		now, err = c.read(ask.Number, told.Said)
		if c.task.Serve != nil {
			ask.Task.Serve = &cut.Serve{Serving: c.task.Serve.Serving, Chain: now}
		}
		ask.Ends = err == nil
	case ask.Knows == cut.Reached && c.taken != nil:
		c.taken()
	}
	return err
}

// giveUp sends server 0 that a cut is given up. Without an answer within a heartbeat's interval, the cut counts as
// given up too; a goroutine then repeats the message for up to the WaitTimeout, since all pushes wait for it. given is
// false if the cut can't be given up any more because it is complete; told then has its result.
func (k *cuts) giveUp(ask cut.Ask, told *cut.Told) (given bool) {
	ask.GivesUp = true
	tell := func(limit time.Duration, told *cut.Told) error {
		ctx, cancel := context.WithTimeout(k.link.ctx, limit)
		defer cancel()
		return k.link.control(ctx, 0, wire.OpCut, &ask, told)
	}
	err := tell(k.link.strategy.HeartbeatInterval.Std(), told)
	if err != nil && !errors.Is(err, wire.ErrStale) {
		k.link.besides.run(func() { _ = tell(k.link.strategy.WaitTimeout.Std(), new(cut.Told)) })
	}
	return err != nil
}

// id returns a name for a cut of this worker that no other cut has, also if a clock was set back between two of its
// lives.
func (k *cuts) id() string {
	return fmt.Sprintf("%s-%d-%d-%d", strconv.FormatInt(time.Now().UnixNano(), 36), k.link.worker,
		k.link.life.number, k.made.Add(1))
}

// repeat calls do, which leads a cut, and calls it again if servers lost the cut because one was restarted meanwhile.
// Such a cut (wire.ErrStale) has changed nothing, so that do may run again. Without a journal a restarted server has
// lost its weights, and repeat does not try again.
func (k *cuts) repeat(do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if try == mostCuts || k.link.strategy.Recovery.Journal == "" || !errors.Is(err, wire.ErrStale) {
			return err
		}
		k.link.log.Info("retrying the cut through all servers: one of them was restarted", "error", err)
	}
}

// mostCuts is how many times do may run in all.
const mostCuts = 5
