package cut

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/wire"
)

// Answered takes a server's answer. One to an order that is not waited for any more changes nothing.
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
		if c.phase == finishing { // it has come back, and does the final work now
			l.send(from, c.ask.Plan.Final())
			return
		}
	} else if a.Work != Free {
		c.said[from] = a.Said
	}
	l.proceed()
}

// Unreachable says that a server has not answered an order for as long as a server may be away.
func (l *Leader) Unreachable(server int, why error) {
	c := l.cut
	if c == nil || c.owes[server] == "" {
		return
	}
	switch c.phase {
	case finishing:
		l.back(fmt.Errorf("server %d can't be told of what other servers may have done: %w", server, why))
	case freeing: // it is free by the next report
		c.owes[server] = ""
		l.proceed()
	default:
		l.giveUp(gaveUp(c.ask.ID, fmt.Sprintf("server %d was not reached: %v", server, why)))
	}
}

// refused goes on with what can't be taken back on a server that does not hold the cut any more: it holds again, some
// pushes later.
func (l *Leader) refused(from int, a *Answer) {
	if a.Stale && a.Work != Hold {
		l.send(from, Hold)
		return
	}
	l.back(fmt.Errorf("server %d can't do what other servers have done: %s", from, a.Err))
}

// back has all roles go back to the last checkpoint.
func (l *Leader) back(why error) {
	l.todo.Fail = wire.Refuse(wire.StatusBack, "cut %d: %v: start the job again from its last checkpoint",
		l.cut.number, why)
}

// proceed goes on when all servers have done what they were told to.
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

// allHold goes on when no server takes a push any more.
func (l *Leader) allHold() {
	c := l.cut
	c.at = c.steps()
	if p := l.past.same(c); p != nil {
		l.share(p)
		return
	}
	if c.ask.Plan.waits(Hold) {
		c.stage, c.phase = Held, asking
		return
	}
	l.order(working, Reach)
}

// allWorked goes on when all servers have the steps of the cut, or have written their parts.
func (l *Leader) allWorked() {
	c := l.cut
	plan := c.ask.Plan
	reached := c.stage < Reached
	c.stage = Reached
	switch {
	case reached && plan.Has(Write):
		l.order(working, Write)
	case plan.Has(Write):
		c.phase = sealing
		l.todo.Seal = &Sealing{c.number, c.ask, c.steps(), c.brought, slices.Clone(c.said)}
	case plan.waits(Reach) && !c.read:
		c.phase = asking
	default:
		l.finish()
	}
}

// Sealed says what came of a commit.
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
	case c.ask.Plan.Final() == "":
		l.whole()
	default:
		l.finish()
	}
}

// finish begins what can't be taken back, if all servers have found the same to do it with.
func (l *Leader) finish() {
	c := l.cut
	plan := c.ask.Plan
	if plan.Final() == "" { // it was read
		l.whole()
		return
	}
	if plan.Final() == Take {
		if err := c.differ(); err != nil {
			l.giveUp(err)
			return
		}
		c.brought = c.said[0]
	}
	if c.ready = l.dying > 0; c.ready {
		return
	}
	l.todo.Note = append(l.todo.Note, Record{Intent: l.intent()})
	l.order(finishing, plan.Final())
}

// differ says which server has found something else than server 0 in the directory that is loaded, nil for none.
func (c *led) differ() error {
	for s, found := range c.said {
		if !bytes.Equal(found, c.said[0]) {
			return fmt.Errorf("server %d finds %s, server 0 %s: all servers must see the same directory, and nothing "+
				"may be saved there meanwhile", s, found, c.said[0])
		}
	}
	return nil
}

func (l *Leader) intent() *Intent {
	return &Intent{Number: l.cut.number, Ask: *l.cut.ask, Step: l.cut.held[0].Step, At: l.cut.at,
		Brought: l.cut.brought}
}

// whole ends a cut whose work is done on all servers.
func (l *Leader) whole() {
	c := l.cut
	d := &Done{Number: c.number, Ask: c.ask.past(), Step: c.held[0].Step, At: c.at, Said: slices.Clone(c.said)}
	l.over(d)
	l.shareAll(d)
	c.sealed = true
	l.order(freeing, Free)
}

// anew tries a cut under another number, since a server that was started again does not hold this one. An anchor that
// has gone on with its steps has to ask in its turn again.
func (l *Leader) anew(server int) {
	c := l.cut
	why := gaveUp(c.ask.ID, fmt.Sprintf("server %d was started again", server))
	if c.tries == mostTries || c.ask.Plan.lets() && c.stage >= Reached {
		l.giveUp(why)
		return
	}
	c.again, c.stage, c.why = true, Queued, why
	l.free()
}

// giveUp ends a cut that has changed nothing yet. A commit under way comes to its end before.
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

// free lets pushes go on.
func (l *Leader) free() {
	l.cut.ready = false
	l.order(freeing, Free)
}
