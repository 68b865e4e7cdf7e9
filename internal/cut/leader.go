package cut

import (
	"fmt"
	"slices"
)

// Leader leads the cuts of a job, on server 0, one at a time: it numbers them, orders servers what to do, and ends
// them. After each call its caller does what [Leader.Todo] says.
//
//	 ask         all hold         progress          all written       committed          all done
//	────> Holding ──────> Asking ─────────> Working ───────────> Sealing ──────> Finishing ──────> Freeing ──> (next)
//	         │              │ ▲               │ │                  │                ▲                 ▲
//	         │              │ └ to be read ───┘ └── reached ───────┼────────────────┘                 │
//	         └──────────────┴────────────────── given up ──────────┴──────────────────────────────────┘
//
// A plan goes through the phases that it needs. Before Finishing everything can be taken back, and is when the
// anchor is gone. From there on nothing is: the intent is in the journal, and a process that takes this one's place
// goes on with it.
type Leader struct {
	servers int
	last    uint64 // the highest number
	cut     *led   // under way
	queue   []*Ask
	past    past
	todo    Todo
	closed  error
	// dying is how many workers are being taken out of the job: nothing begins meanwhile that can't be taken back.
	dying int
}

// Todo is what a leader wants done: the records are in the journal before anything else happens.
type Todo struct {
	Note []Record
	Send []Sending
	// Seal is the checkpoint whose parts are all written, to be committed: [Leader.Sealed] says what came of it.
	Seal *Sealing
	// Fail says why all roles go back to the last checkpoint.
	Fail error
}

// Sending is an order to a server, sent again until it is answered, or until another order to that server takes its
// place.
type Sending struct {
	To int
	*Order
}

// Sealing is a checkpoint whose parts are written.
type Sealing struct {
	Number  uint64
	Ask     *Ask
	Steps   []uint64
	Brought []byte
	Parts   [][]byte
}

// phase is how far a cut is, as the drawing above has it.
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
	ask     *Ask
	number  uint64
	tries   int
	phase   phase
	stage   Stage
	owes    []Work // by server: the work of the order that it has not answered, "" for none
	held    []*Answer
	at      []uint64 // its steps, when all hold
	said    [][]byte // by server: of the last work
	brought []byte
	sealed  bool  // the checkpoint is whole
	read    bool  // the anchor has read all that it wants
	ready   bool  // a death is waited for, and then the final work begins
	again   bool  // a new number is tried when this one is freed
	why     error // it is given up
}

// mostTries is how often a cut is begun whose servers are started again in the middle of it.
const mostTries = 5

// NewLeader is the leader of a job whose servers have seen no cut.
func NewLeader(servers int) *Leader { return &Leader{servers: servers} }

// Todo is what is to be done since it was last asked for.
func (l *Leader) Todo() Todo {
	t := l.todo
	l.todo = Todo{}
	return t
}

// Ask takes what a worker of the job says of its cut, and says how far that is. The worker waits until there is
// [Told.News]. In rounds a worker asks when its round is reached, and pushes nothing before the cut lets it: so no
// round closes in a cut.
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
	if err := a.Plan.Check(); err != nil {
		return Told{Err: err}
	}
	first := *a
	l.queue = append(l.queue, &first)
	l.next()
	return Told{}
}

// onward takes the word of the anchor of the cut under way.
func (l *Leader) onward(c *led, a *Ask) Told {
	switch speaks := l.Speaks(a); {
	case a.GivesUp:
		l.leave("its worker wants it no more")
	case speaks && c.stage == Held:
		c.brought = a.Brought
		l.order(working, Reach)
	case speaks && c.stage == Reached && a.Ends && c.ask.Plan.Final() != "":
		c.brought = a.Brought
		l.finish()
	case speaks && c.stage == Reached && a.Ends:
		c.read = true
		l.order(working, Reach) // as it has been all the time
	}
	if c.why != nil && !c.again {
		return Told{Number: c.number, Err: c.why}
	}
	if p := l.past.call(a.ID); p != nil { // all servers have done it, and are let go
		return p.answer(a.Worker)
	}
	told := Told{Number: c.number, Stage: c.stage}
	if c.phase == asking && c.stage == Reached {
		told.Said = slices.Clone(c.said)
	}
	return told
}

// Speaks says whether the cut under way waits for that word of its anchor.
func (l *Leader) Speaks(a *Ask) bool {
	c := l.cut
	return c != nil && c.ask.ID == a.ID && a.Number == c.number && a.Knows == c.stage && c.phase == asking
}

// Held is the number of the cut under way if that call's anchor is to bring progress to it, else 0.
func (l *Leader) Held(id string) (number uint64) {
	if c := l.cut; c != nil && c.ask.ID == id && c.phase == asking && c.stage == Held {
		return c.number
	}
	return 0
}

// Whole says whether a checkpoint in the cut under way must be whole, since a server can't write what changed alone.
func (l *Leader) Whole() bool { return l.cut.whole() }

// Fail gives up the cut under way for what went wrong with the word of its anchor.
func (l *Leader) Fail(a *Ask, why error) {
	if l.Speaks(a) {
		l.giveUp(why)
	}
}

// Knows says whether a call has come before, by its id.
func (l *Leader) Knows(id string) bool {
	is := func(a *Ask) bool { return a.ID == id }
	return l.cut != nil && is(l.cut.ask) || slices.ContainsFunc(l.queue, is) || l.past.call(id) != nil
}

// next begins the cut that has waited longest.
func (l *Leader) next() {
	if l.cut == nil && len(l.queue) > 0 && l.closed == nil {
		first := l.queue[0]
		l.queue = l.queue[1:]
		l.begin(first, 1)
	}
}

// begin begins a cut under a new number, which is noted before any server is told.
func (l *Leader) begin(a *Ask, try int) {
	l.last++
	l.todo.Note = append(l.todo.Note, Record{Led: l.last})
	l.cut = &led{ask: a, number: l.last, tries: try, owes: make([]Work, l.servers), held: make([]*Answer, l.servers),
		said: make([][]byte, l.servers)}
	l.order(holding, Hold)
}

// order has all servers do a work.
func (l *Leader) order(p phase, w Work) {
	l.cut.phase = p
	for to := range l.servers {
		l.send(to, w)
	}
}

func (l *Leader) send(to int, w Work) {
	c := l.cut
	c.owes[to] = w
	o := &Order{Number: c.number, Work: w}
	switch w {
	case Hold:
		o.Plan = c.ask.Plan
	case Reach:
		o.Steps, o.Whole, o.How, o.Brought = c.steps(), c.whole(), c.ask.How, c.brought
	case End, Mark, Take:
		o.Name, o.How, o.Brought = c.name(), c.ask.How, c.brought
	case Free:
		o.Vain = !c.sealed
	}
	l.todo.Send = append(l.todo.Send, Sending{to, o})
}

// name is that of what can't be taken back. The number makes it one for the job, whatever was tried before.
func (c *led) name() string { return fmt.Sprintf("%s-%d", c.ask.Plan.Final(), c.number) }

// steps are the cut's: of each worker the last that any server has.
func (c *led) steps() []uint64 {
	steps := slices.Clone(c.held[0].Steps)
	for _, h := range c.held[1:] {
		for w := range min(len(steps), len(h.Steps)) {
			steps[w] = max(steps[w], h.Steps[w])
		}
	}
	return steps
}

// whole says whether a server can't write what changed alone.
func (c *led) whole() bool {
	return slices.ContainsFunc(c.held, func(h *Answer) bool { return h.Whole })
}

// Irrevocable says that servers do what can't be taken back: no worker is declared dead and none begins another life
// before all have.
func (l *Leader) Irrevocable() bool { return l.cut != nil && l.cut.phase == finishing }

// Gone says that a worker has left, is about to be declared dead, or begins another life: what it asked for is given up
// if that can be. Servers are told before they let anything go on without the worker.
func (l *Leader) Gone(worker int, why string) {
	l.queue = slices.DeleteFunc(l.queue, func(a *Ask) bool { return a.Worker == worker })
	if l.cut != nil && l.cut.ask.Worker == worker {
		l.leave(why)
	}
}

// leave ends the cut of an anchor that is gone, unless it can't be taken back, or only has to be written still.
func (l *Leader) leave(why string) {
	c := l.cut
	if c.again {
		c.again = false
		l.fail(c.ask, c.why)
	}
	if c.ask.Plan.lets() && c.stage >= Reached || c.phase >= finishing {
		return
	}
	l.giveUp(gaveUp(c.ask.ID, why))
}

// Dying says that a worker is being taken out of the job, until it Died: servers do so one after the other, and do
// nothing meanwhile that can't be taken back.
func (l *Leader) Dying() { l.dying++ }

// Died ends that.
func (l *Leader) Died() {
	if l.dying--; l.dying == 0 && l.cut != nil && l.cut.ready {
		l.finish()
	}
}

// Report is what server 0 says with each of its signs of life, so that no server holds a cut that is over: the highest
// number, and the cut under way, 0 for none.
func (l *Leader) Report() (last, under uint64) {
	if l.cut != nil {
		under = l.cut.number
	}
	return l.last, under
}

// Close ends all waiting: the job fails, or this server ends.
func (l *Leader) Close(why error) {
	l.closed, l.queue = why, nil
}

// fail ends a call that has failed.
func (l *Leader) fail(a *Ask, why error) Told {
	l.over(&Done{Ask: a.past(), Why: why.Error(), err: why})
	return Told{Err: why}
}

// over notes that a call is over.
func (l *Leader) over(d *Done) {
	l.todo.Note = append(l.todo.Note, Record{Done: d})
	l.past.add(d)
}
