package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/wire"
)

// cuts makes servers hold back pushes at the same steps of every worker, so that something can be done on all of them
// at one point between steps. A cut is led by server 0 and asked for by one worker, its anchor, which is this one.
// package cut has the machine; here are the worker's questions and what it does at each stage.
type cuts struct {
	link *link
	// made counts the cuts that this process has asked for, so that each has an id of its own.
	made atomic.Int64
}

// call is a cut that this worker asks server 0 for: its plan, what that is done with, and what the worker does in it.
type call struct {
	plan cut.Plan
	with wire.Cutting
	dir  string // of a checkpoint, "" for one of the job's own
	// held brings what a checkpoint says beside the weights, when all servers hold pushes.
	held func(id string) (brought any, err error)
	// taken says that servers write what they have taken: this worker's steps may go on.
	taken func()
	// read reads what servers have listed in the cut of that number, and says what is to be done for good.
	read func(number uint64, said [][]byte) (brought any, err error)
}

// lead has server 0 lead a cut, and says what each server said of it. When ctx ends before servers were ordered what
// can't be taken back, the cut is given up; else the call stays until it is whole. It asks server 0 again and again,
// each time with what the worker knows, and returns when the cut is whole, given up, or failed. The caller has the
// worker's turn. A call that waits in server 0's queue for longer than the strategy's WaitTimeout is given up with an
// error.
//
// said has one text for each server, in the order of servers; what it means is the plan's. An error that wraps
// wire.ErrStale says that the cut was given up or is unknown; repeat may then try it anew.
func (k *cuts) lead(ctx context.Context, c call) (said [][]byte, err error) {
	ask := cut.Ask{ID: k.id(), Worker: k.link.worker, Plan: c.plan, Dir: c.dir}
	if ask.How, err = json.Marshal(c.with); err != nil {
		return nil, err
	}
	over, began := false, time.Now()
	defer func() {
		if !over { // what the call does in its cut has panicked, or ended its goroutine
			k.giveUp(ask, new(cut.Told))
		}
	}()
	for wanted := ctx; ; {
		over = true
		var told cut.Told
		err := k.link.control(wanted, 0, wire.OpCut, &ask, &told)
		switch {
		case err != nil && ctx.Err() != nil && wanted == ctx:
			bound := ask.Ends && c.plan.Final() != ""                   // servers may do it for good
			if !bound && k.giveUp(ask, &told) || c.plan.Final() == "" { // what is written is finished behind it
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

// goOn does what a worker does at a stage of its cut, and has it in what is asked next. News that came before is
// skipped. Where server 0 was started again and knows nothing of the number, the call begins from the start under its
// old id, and server 0's journal says whether it was done.
func (c *call) goOn(ask *cut.Ask, told *cut.Told) (err error) {
	switch {
	case told.Anew:
		told.Number, told.Stage = 0, cut.Queued
	case !told.News(ask):
		return nil
	}
	ask.Number, ask.Knows, ask.Ends, ask.Brought = told.Number, told.Stage, false, nil
	var brought any
	switch {
	case ask.Knows == cut.Held:
		brought, err = c.held(ask.ID)
	case ask.Knows == cut.Reached && c.read != nil:
		brought, err = c.read(ask.Number, told.Said)
		ask.Ends = err == nil
	case ask.Knows == cut.Reached && c.taken != nil:
		c.taken()
	}
	if err == nil && brought != nil {
		ask.Brought, err = json.Marshal(brought)
	}
	return err
}

// giveUp tells server 0 that a cut is not wanted any more. It is not when there is no answer within a heartbeat either:
// server 0 is told beside the caller then, as long as calls wait, since pushes of all wait for it. given is false when
// the cut can't be given up any more: it is whole, and told says what came of it.
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

// id names a cut of this worker apart from all others.
func (k *cuts) id() string {
	return fmt.Sprintf("%s-%d-%d", strconv.FormatInt(time.Now().UnixNano(), 36), k.link.worker, k.made.Add(1))
}

// repeat does what needs a cut, again where servers know nothing of it since one was started again in the middle of it.
// A stale cut has changed nothing, so that do may run again. Without a journal a server that was started again has lost
// its weights, and nothing is repeated.
func (k *cuts) repeat(do func() error) error {
	for try := 1; ; try++ {
		err := do()
		if try == mostCuts || k.link.strategy.Recovery.Journal == "" || !errors.Is(err, wire.ErrStale) {
			return err
		}
		k.link.log.Info("a cut through all servers is repeated, since one of them was restarted meanwhile", "said",
			err)
	}
}

// mostCuts is how often do may run in all.
const mostCuts = 5
