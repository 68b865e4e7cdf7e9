package cut

import (
	"fmt"
	"slices"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Leader leads the cuts of a job, on server 0, one at a time: it numbers them, sends orders to servers, and ends them.
// After each call the caller carries out [Leader.Todo].
//
//	 ask         all hold         progress          all written       committed          all done
//	────> Holding ──────> Asking ─────────> Working ───────────> Sealing ──────> Finishing ──────> Freeing ──> (next)
//	         │              │ ▲               │ │                  │                ▲                 ▲
//	         │              │ └ to be read ───┘ └── reached ───────┼────────────────┘                 │
//	         └──────────────┴────────────────── given up ──────────┴──────────────────────────────────┘
//
// A plan goes through the phases that it needs. Before Finishing everything can be undone, and is if the anchor is
// gone. From Finishing on nothing is undone: the intent is in the journal, and a process that replaces this one
// continues with it.
type Leader struct {
	servers int
	last    uint64 // the highest number
	cut     *led   // under way
	queue   []*Ask
	past    past
	deeds   progress.Deeds // by name
	todo    Todo
	closed  error
	// dying is how many workers are being removed from the job. Meanwhile no final work begins.
	dying int
}

// Todo is what the caller must do. The records must be in the journal before anything else happens.
type Todo struct {
	Note []Record
	Send []Sending
	// Seal is the checkpoint whose parts are all written, to be committed; [Leader.Sealed] takes the result.
	Seal *Sealing
	// Fail says why all roles go back to the last checkpoint; nil if they don't.
	Fail error
}

// Sending is an order to a server. It is sent again until it is answered, or replaced by another order to that server.
type Sending struct {
	To int
	*Order
}

// Sealing is a checkpoint whose parts are written.
type Sealing struct {
	Number uint64
	Save   Save
	Steps  []uint64
	Parts  [][]byte
}

// phase is the state of a cut, as in the drawing above.
type phase uint8

const (
	holding phase = iota
	asking
	working
	sealing
	finishing
	freeing
)

// led is a cut under way.
type led struct {
	ask    *Ask
	number uint64
	tries  int
	phase  phase
	stage  Stage
	owes   []Work // by server: the work of the order that it has not answered, "" for none
	held   []*Answer
	at     []uint64 // the cut's steps, set when all hold
	said   [][]byte // by server: of the last work
	sealed bool     // the checkpoint is committed
	read   bool     // the anchor has read everything
	ready  bool     // the final work begins when no worker is dying
	again  bool     // begins again under a new number once this one is freed
	why    error    // set when the cut is given up
}

// mostTries is how many times a cut is begun if servers restart in the middle of it.
const mostTries = 5

// NewLeader returns the leader of a job whose servers have had no cut.
func NewLeader(servers int) *Leader { return &Leader{servers: servers} }

// Todo returns what is to be done since the last call of Todo.
func (l *Leader) Todo() Todo {
	t := l.todo
	l.todo = Todo{}
	return t
}

// Ask handles a worker's request about its cut, and returns the cut's state. The caller lets the worker wait until
// there is [Told.News]. In rounds a worker asks when its round is reached, and pushes nothing before the cut lets it,
// so that no round closes during a cut.
func (l *Leader) Ask(a *Ask) Told {
	if l.closed != nil {
		return Told{Err: l.closed}
	}
	if c := l.cut; c != nil && c.ask.ID == a.ID {
		return l.onward(c, a)
	}
	if p := l.past.call(a.ID); p != nil {
		return p.answer(a.Worker)
	}
	queued := slices.ContainsFunc(l.queue, func(o *Ask) bool { return o.ID == a.ID })
	switch {
	case a.GivesUp:
		l.queue = slices.DeleteFunc(l.queue, func(o *Ask) bool { return o.ID == a.ID })
		return l.fail(a, gaveUp(a.ID, "its worker wants it no more"))
	case queued:
		return Told{}
	case a.Number != 0:
		return Told{Anew: true}
	}
	if err := a.Task.Plan().Check(); err != nil {
		return Told{Err: err}
	}
	l.queue = append(l.queue, a.accepted())
	l.next()
	if p := l.past.call(a.ID); p != nil { // done before, by its name
		return p.answer(a.Worker)
	}
	return Told{}
}

// onward handles a request of the anchor of the cut under way.
func (l *Leader) onward(c *led, a *Ask) Told {
	switch speaks := l.Speaks(a); {
	case a.GivesUp:
		l.leave("its worker wants it no more")
	case speaks && c.stage == Held:
		c.ask.Task = a.Task
		l.order(working, Reach)
	case speaks && c.stage == Reached && a.Ends && c.ask.Task.Plan().Final() != "":
		c.ask.Task, c.ask.Deed = a.Task, a.Deed // with its result
		l.finish()
	case speaks && c.stage == Reached && a.Ends:
		c.read = true
		l.order(working, Reach) // asks whether each server has held the cut all the time
	}
	if c.why != nil && !c.again {
		return Told{Number: c.number, Err: c.why}
	}
	if p := l.past.call(a.ID); p != nil { // all servers have done it, and are being freed
		return p.answer(a.Worker)
	}
	told := Told{Number: c.number, Stage: c.stage}
	if c.phase == asking && c.stage == Reached {
		told.Said = slices.Clone(c.said)
	}
	return told
}

// Speaks reports whether the cut under way waits for this request of its anchor.
func (l *Leader) Speaks(a *Ask) bool {
	c := l.cut
	return c != nil && c.ask.ID == a.ID && a.Number == c.number && a.Knows == c.stage && c.phase == asking &&
		slices.Equal(a.Task.Plan(), c.ask.Task.Plan())
}

// Held returns the number of the cut under way if it waits for that call's anchor to bring progress, else 0.
func (l *Leader) Held(id string) (number uint64) {
	if c := l.cut; c != nil && c.ask.ID == id && c.phase == asking && c.stage == Held {
		return c.number
	}
	return 0
}

// Whole reports whether a checkpoint in the cut under way must be whole, since a server can't write only its changes.
func (l *Leader) Whole() bool {
	return slices.ContainsFunc(l.cut.held, func(h *Answer) bool { return h.Whole })
}

// Fail gives up the cut under way because of an error in its anchor's request.
func (l *Leader) Fail(a *Ask, why error) {
	if l.Speaks(a) {
		l.giveUp(why)
	}
}

// Knows reports whether a call of that id is under way, queued or remembered.
func (l *Leader) Knows(id string) bool {
	is := func(a *Ask) bool { return a.ID == id }
	return l.cut != nil && is(l.cut.ask) || slices.ContainsFunc(l.queue, is) || l.past.call(id) != nil
}

// next begins the call that has waited longest, and answers calls for what was done by name.
func (l *Leader) next() {
	for l.cut == nil && len(l.queue) > 0 && l.closed == nil {
		first := l.queue[0]
		l.queue = l.queue[1:]
		switch done, err := l.deeds.Done(first.Deed); {
		case err != nil:
			l.fail(first, wire.Refuse(wire.StatusRefused, "%v", err))
		case done != nil:
			l.over(&Done{Ask: first.past(), Step: noStep, Said: done.Said, Before: true})
		default:
			l.begin(first, 1)
		}
	}
}

// begin begins a cut under a new number, which is recorded before any server has it.
func (l *Leader) begin(a *Ask, try int) {
	l.last++
	l.todo.Note = append(l.todo.Note, Record{Led: l.last})
	l.cut = &led{ask: a, number: l.last, tries: try, owes: make([]Work, l.servers),
		held: make([]*Answer, l.servers), said: make([][]byte, l.servers)}
	l.order(holding, Hold)
}

// order sends an order to all servers.
func (l *Leader) order(p phase, w Work) {
	l.cut.phase = p
	for to := range l.servers {
		l.send(to, w)
	}
}

func (l *Leader) send(to int, w Work) {
	c := l.cut
	c.owes[to] = w
	o := &Order{Number: c.number, Work: w, Task: c.ask.Task}
	switch w {
	case Reach:
		o.Steps = c.most(func(a *Answer) []uint64 { return a.In })
	case End, Mark, Take:
		o.Name = c.name()
	case Free:
		o.Task, o.Vain = Task{}, !c.sealed
	}
	l.todo.Send = append(l.todo.Send, Sending{to, o})
}

// name returns the name of the cut's final work. The number makes it unique in the job.
func (c *led) name() string { return fmt.Sprintf("%s-%d", c.ask.Task.Plan().Final(), c.number) }

// most returns, by worker, the highest number that any server holds.
func (c *led) most(of func(held *Answer) []uint64) []uint64 {
	most := slices.Clone(of(c.held[0]))
	for _, h := range c.held[1:] {
		for w, n := range of(h)[:min(len(most), len(of(h)))] {
			most[w] = max(most[w], n)
		}
	}
	return most
}

// Irrevocable reports whether servers do a final work: until all have done it no worker is declared dead and none
// begins another life.
func (l *Leader) Irrevocable() bool { return l.cut != nil && l.cut.phase == finishing }

// Gone reports that a worker has left, is about to be declared dead, or begins another life. Its calls are given up if
// they can be. The orders in Todo must reach servers before the job goes on without the worker.
func (l *Leader) Gone(worker int, why string) {
	l.queue = slices.DeleteFunc(l.queue, func(a *Ask) bool { return a.Worker == worker })
	if l.cut != nil && l.cut.ask.Worker == worker {
		l.leave(why)
	}
}

// leave ends the cut of an anchor that is gone, unless it can't be undone, or nothing but writing a checkpoint is left.
func (l *Leader) leave(why string) {
	c := l.cut
	if c.again {
		c.again = false
		l.fail(c.ask, c.why)
	}
	if c.ask.Task.Plan().resumes() && c.stage >= Reached || c.phase >= finishing {
		return
	}
	l.giveUp(gaveUp(c.ask.ID, why))
}

// Dying reports that a worker is being removed from the job, until Died: servers remove it one after the other, and
// meanwhile no final work begins.
func (l *Leader) Dying() { l.dying++ }

// Died reports that the worker was removed.
func (l *Leader) Died() {
	if l.dying--; l.dying == 0 && l.cut != nil && l.cut.ready {
		l.finish()
	}
}

// Report returns what each heartbeat of server 0 carries, so that no server holds a cut that is over: the highest
// number, and the cut under way, 0 for none.
func (l *Leader) Report() (last, under uint64) {
	if l.cut != nil {
		under = l.cut.number
	}
	return l.last, under
}

// Close ends all waiting, since the job fails or this server ends.
func (l *Leader) Close(why error) {
	l.closed, l.queue = why, nil
}

// fail ends a call that has failed.
func (l *Leader) fail(a *Ask, why error) Told {
	l.over(&Done{Ask: a.past(), Why: why.Error(), err: why})
	return Told{Err: why}
}

// over records that a call is over.
func (l *Leader) over(d *Done) {
	l.todo.Note = append(l.todo.Note, Record{Done: d})
	l.past.add(d)
	l.did(d)
}
