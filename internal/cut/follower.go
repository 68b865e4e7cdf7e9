package cut

import (
	"slices"
)

// Follower is a server's state machine for the cuts that server 0 leads; server 0 has one too. It holds pushes for one
// cut, and begins ordered works: its caller does a work, and reports its end with [Follower.Idle] or [Follower.Did].
//
//	         hold              idle            reach              steps are there
//	(free) ───────> Settling ───────> Still ─────────> Nearing ─────┬───────────> Kept     pushes wait until free
//	                                    │                           │
//	                                    └─> end, mark, take         └───────────> Imaged   pushes go on, parts are written
//
// In every state free ends the cut, and so does a report or a hold which shows that server 0 has ended it.
type Follower struct {
	number uint64 // the cut that is held, 0 for none
	over   uint64 // no cut up to this one is held again
	plan   Plan
	state  stance
	steps  []uint64 // of the cut, nil until Reach is ordered
	held   *Answer
	said   []*Answer // answers to orders that were carried out
	busy   Order     // the order that is carried out now; without a work if there is none
	vain   bool      // the part that is being written is to be removed
	names  []Named   // works that can't be undone, oldest first
	closed error
}

// stance is the state of a cut on a server, as in the drawing above.
type stance uint8

const (
	settling stance = iota
	still
	nearing
	kept
	imaged
)

// Named is a final work that was done, by its name, with the answer. The journal has it together with what the work has
// changed.
type Named struct {
	Name string `json:"name,omitempty"`
	Said []byte `json:"said,omitempty"`
}

// Order handles an order of server 0. A nil answer means that the order is not done yet and will be sent again. begin
// is the work that the caller is to do now, which may belong to an earlier order.
func (f *Follower) Order(o *Order) (a *Answer, begin Work) {
	switch {
	case f.closed != nil:
		return &Answer{Number: o.Number, Work: o.Work, Err: f.closed.Error()}, ""
	case o.Work == Hold:
		return f.hold(o)
	case o.Work == Free:
		return f.free(o)
	}
	if i := slices.IndexFunc(f.names, func(n Named) bool { return n.Name == o.Name }); o.Name != "" && i >= 0 {
		return &Answer{Number: o.Number, Work: o.Work, Said: f.names[i].Said}, ""
	}
	if o.Number != f.number {
		return stale(o), ""
	}
	if a := f.answer(o.Work); a != nil {
		return a, ""
	}
	if f.busy.Work != "" || f.state == settling {
		return nil, ""
	}
	if !f.accepts(o) {
		return stale(o), ""
	}
	if o.Work == Reach {
		f.state, f.steps = nearing, o.Steps
	}
	f.busy = *o
	return nil, o.Work
}

// accepts reports whether this server is in a state for an order. A restarted server may hold the cut again because of
// a late order, and have steps by then that are not in the cut, or no image: then it does nothing but final works.
func (f *Follower) accepts(o *Order) bool {
	switch o.Work {
	case Reach:
		return f.state == still && !beyond(f.held.In, o.Steps)
	case Write:
		return f.state >= kept
	}
	return true
}

// answer returns the answer to an order that was carried out, nil if it was not.
func (f *Follower) answer(w Work) *Answer {
	for _, a := range f.said {
		if a.Work == w {
			return a
		}
	}
	return nil
}

// beyond reports whether a worker has come further than the steps of a cut.
func beyond(have, steps []uint64) bool {
	for w := range have {
		if w < len(steps) && have[w] > steps[w] {
			return true
		}
	}
	return false
}

// hold begins to hold pushes. A higher number shows that the cut before is over.
func (f *Follower) hold(o *Order) (*Answer, Work) {
	switch {
	case o.Number <= f.over || o.Number < f.number:
		return stale(o), ""
	case o.Number == f.number && f.state == settling:
		return nil, ""
	case o.Number == f.number:
		return f.held, ""
	}
	f.end(o.Number - 1)
	if f.busy.Work != "" { // the work under way ends first
		return nil, ""
	}
	f.number, f.plan, f.state = o.Number, o.Task.Plan(), settling
	return nil, Hold
}

// Idle reports that no update is under way since pushes are held, and how far the server is: Steps, In, Step and Whole
// of the answer.
func (f *Follower) Idle(far Answer) {
	if f.number == 0 || f.state != settling {
		return
	}
	f.state = still
	far.Number, far.Work = f.number, Hold
	f.held = &far
}

// Resume holds the cut whose final work an earlier process of server 0 has begun.
func (f *Follower) Resume(number uint64, plan Plan) {
	f.number, f.plan, f.state = number, plan, still
	f.held = &Answer{Number: number, Work: Hold}
}

// Did reports the result of the work that was begun, or that its cut is not Wanted any more. remove says that the
// caller is to remove the part that was written.
func (f *Follower) Did(said []byte, err error) (remove bool) {
	o := f.busy
	f.busy = Order{}
	if o.Number != f.number {
		remove = f.vain && o.Work == Write && err == nil
		f.vain = false
		return remove
	}
	a := &Answer{Number: o.Number, Work: o.Work, Said: said}
	if err != nil {
		a.Err = err.Error()
	}
	f.said = append(f.said, a)
	switch {
	case err != nil:
	case o.Work == Reach && f.plan.resumes():
		f.state = imaged
	case o.Work == Reach:
		f.state = kept
	case o.Name != "":
		f.Recall(Named{o.Name, said})
	}
	return false
}

// Wanted reports whether a cut is still held.
func (f *Follower) Wanted(number uint64) bool { return f.number == number && f.closed == nil }

// UpTo returns the last step of a worker that the cut has, once Reach was ordered.
func (f *Follower) UpTo(worker int) uint64 { return f.steps[worker] }

// Busy returns the order that is being carried out.
func (f *Follower) Busy() Order { return f.busy }

// free lets pushes go on, and answers when no work of the cut is under way. begin is Free if the part is to be removed.
func (f *Follower) free(o *Order) (a *Answer, begin Work) {
	if o.Number == f.number {
		if wrote := f.answer(Write); o.Vain && wrote != nil && wrote.Err == "" {
			begin = Free
		}
		f.vain = o.Vain
	}
	f.end(o.Number)
	if f.busy.Work != "" && f.busy.Number == o.Number {
		return nil, begin
	}
	return &Answer{Number: o.Number, Work: Free}, begin
}

// end ends all cuts up to a number.
func (f *Follower) end(number uint64) {
	if f.over = max(f.over, number); f.number != 0 && f.number <= f.over {
		f.number, f.plan, f.steps, f.held, f.said = 0, nil, nil, nil, nil
	}
}

// Report handles a heartbeat of server 0, which has the highest number of a cut and the cut under way, 0 for none. A
// late report, from before the hold, ends nothing.
func (f *Follower) Report(last, under uint64) {
	if under != 0 {
		last = under - 1
	}
	f.end(last)
}

// Number returns the cut that is held here, 0 for none.
func (f *Follower) Number() uint64 { return f.number }

// Plan returns the plan of the cut that is held here.
func (f *Follower) Plan() Plan { return f.plan }

// Keeps reports whether a cut is held here and all its steps, and no others, are in the tables.
func (f *Follower) Keeps(number uint64) bool {
	return number != 0 && f.number == number && f.state == kept && f.closed == nil
}

// Holds reports whether a worker's step must wait for the cut.
func (f *Follower) Holds(worker int, step uint64) bool {
	if f.number == 0 || f.state == imaged || f.closed != nil {
		return false
	}
	return f.steps == nil || step > f.steps[worker]
}

// Names returns the final works that were done, for the base of a journal.
func (f *Follower) Names() []Named { return slices.Clone(f.names) }

// Recall stores a final work of this process or an earlier one.
func (f *Follower) Recall(n Named) {
	f.names = append(slices.Clone(f.names), n)
	if over := len(f.names) - remembers; over > 0 {
		f.names = f.names[over:]
	}
}

// Close ends all holding, for a job that fails. A server that ends alone refuses orders before they reach the follower,
// so that server 0 sends them again to the process that replaces it.
func (f *Follower) Close(why error) { f.closed = why }

func stale(o *Order) *Answer {
	return &Answer{Number: o.Number, Work: o.Work, Stale: true}
}
