package cut

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// Answered handles a server's answer. An answer to an order that is not waited for any more changes nothing.
func (l *Leader) Answered(from int, a *Answer) {
	c := l.cut
	if c == nil || a.Number != c.number || c.owes[from] != a.Work || l.closed != nil {
		return
	}
	switch failed := a.Stale || a.Err != ""; {
	case failed && c.phase == finishing:
		l.refused(from, a)
		return
	case a.Stale && c.phase != freeing:
		l.anew(from)
		return
	case failed && c.phase != freeing:
		l.giveUp(fmt.Errorf("server %d: %s", from, a.Err))
		return
	}
	c.owes[from] = ""
	if a.Work == Hold {
		c.held[from] = a
		if c.phase == finishing { // the server was restarted, and does the final work now
			l.send(from, c.ask.Task.Plan().Final())
			return
		}
	} else if a.Work != Free {
		c.said[from] = a.Said
	}
	l.proceed()
}

// Unreachable reports that a server has not answered an order for as long as a server may be away.
func (l *Leader) Unreachable(server int, why error) {
	c := l.cut
	if c == nil || c.owes[server] == "" {
		return
	}
	switch c.phase {
	case finishing:
		l.back(fmt.Errorf("server %d can't be told of what other servers may have done: %w", server, why))
	case freeing: // the next report frees it
		c.owes[server] = ""
		l.proceed()
	default:
		l.giveUp(gaveUp(c.ask.ID, fmt.Sprintf("server %d was not reached: %v", server, why)))
	}
}

// refused handles a failed final work. A server that does not hold the cut any more is ordered to hold again, which may
// be after some more pushes. Any other error makes the job go back to its last checkpoint.
func (l *Leader) refused(from int, a *Answer) {
	if a.Stale && a.Work != Hold {
		l.send(from, Hold)
		return
	}
	l.back(fmt.Errorf("server %d can't do what other servers have done: %s", from, a.Err))
}

// back makes all roles go back to the last checkpoint.
func (l *Leader) back(why error) {
	l.todo.Fail = wire.Refuse(wire.StatusBack, "cut %d: %v: start the job again from its last checkpoint",
		l.cut.number, why)
}

// proceed goes to the next phase when all servers have answered.
func (l *Leader) proceed() {
	c := l.cut
	if slices.ContainsFunc(c.owes, func(w Work) bool { return w != "" }) {
		return
	}
	switch c.phase {
	case holding:
		l.allHold()
	case working:
		l.allWorked()
	case finishing:
		l.whole()
	case freeing:
		l.cut = nil
		if c.again {
			l.begin(c.ask, c.tries+1)
		}
		l.next()
	}
}

// allHold goes on when all servers hold pushes.
func (l *Leader) allHold() {
	c := l.cut
	c.at = c.most(func(a *Answer) []uint64 { return a.Steps })
	if p := l.past.same(c); p != nil {
		l.share(p)
		return
	}
	if c.ask.Task.Plan().waits(Hold) {
		c.stage, c.phase = Held, asking
		return
	}
	l.order(working, Reach)
}

// allWorked goes on when all servers have the steps of the cut, or have written their parts.
func (l *Leader) allWorked() {
	c := l.cut
	plan := c.ask.Task.Plan()
	reached := c.stage < Reached
	c.stage = Reached
	switch {
	case reached && plan.Has(Write):
		l.order(working, Write)
	case plan.Has(Write):
		c.phase = sealing
		l.todo.Seal = &Sealing{c.number, *c.ask.Task.Save, c.at, slices.Clone(c.said)}
	case plan.waits(Reach) && !c.read:
		c.phase = asking
	default:
		l.finish()
	}
}

// Sealed reports the result of a commit.
func (l *Leader) Sealed(number uint64, err error) {
	c := l.cut
	if c == nil || c.number != number || c.phase != sealing || l.closed != nil {
		return
	}
	c.sealed, c.phase = err == nil, working
	switch {
	case c.why != nil:
		l.free()
	case err != nil:
		l.giveUp(err)
	case c.ask.Task.Plan().Final() == "":
		l.whole()
	default:
		l.finish()
	}
}

// finish begins the final work; for a load, only if all servers have found the same.
func (l *Leader) finish() {
	c := l.cut
	plan := c.ask.Task.Plan()
	if plan.Final() == "" { // the plan only reads
		l.whole()
		return
	}
	if plan.Final() == Take {
		if err := c.differ(); err != nil {
			l.giveUp(err)
			return
		}
		load := *c.ask.Task.Load
		load.Found, c.ask.Task.Load = string(c.said[0]), &load
	}
	if c.ready = l.dying > 0; c.ready {
		return
	}
	l.todo.Note = append(l.todo.Note, Record{Intent: l.intent()})
	l.order(finishing, plan.Final())
}

// differ returns an error that names a server which has found something else than server 0 in the loaded directory.
func (c *led) differ() error {
	for s, found := range c.said {
		if !bytes.Equal(found, c.said[0]) {
			return fmt.Errorf("server %d finds %s, server 0 %s: all servers must see the same directory, and nothing "+
				"may be saved there meanwhile", s, found, c.said[0])
		}
	}
	return nil
}

func (l *Leader) intent() *Done {
	return &Done{Number: l.cut.number, Ask: *l.cut.ask, Step: l.cut.held[0].Step, At: l.cut.at}
}

// whole ends a cut whose works are done on all servers.
func (l *Leader) whole() {
	c := l.cut
	d := &Done{Number: c.number, Ask: c.ask.past(), Step: c.held[0].Step, At: c.at, Said: slices.Clone(c.said)}
	if did := c.ask.Deed; did != nil && len(did.Said) > 0 { // the worker's own result
		d.Said = did.Said
	}
	l.over(d)
	l.shareAll(d)
	c.sealed = true
	l.order(freeing, Free)
}

// anew begins the cut again under another number, since a restarted server does not hold it. If the anchor has gone on
// with its steps, the cut is given up: the anchor has to ask again in its turn.
func (l *Leader) anew(server int) {
	c := l.cut
	why := gaveUp(c.ask.ID, fmt.Sprintf("server %d was started again", server))
	if c.tries == mostTries || c.ask.Task.Plan().resumes() && c.stage >= Reached {
		l.giveUp(why)
		return
	}
	c.again, c.stage, c.why = true, Queued, why
	l.free()
}

// giveUp ends a cut that has changed nothing yet. A commit under way ends first.
func (l *Leader) giveUp(why error) {
	c := l.cut
	if c.why == nil {
		c.why = why
		l.fail(c.ask, why)
	}
	if c.phase != sealing {
		l.free()
	}
}

// free orders all servers to let pushes go on.
func (l *Leader) free() {
	l.cut.ready = false
	l.order(freeing, Free)
}
