package cut

import (
	"slices"
)

// Follower is what a server does of the cuts that server 0 leads; server 0 has one too. It holds pushes for one cut,
// and begins what it is ordered: its caller does that, and says so by [Follower.Idle] or [Follower.Did].
//
//	         hold              idle            reach              steps are there
//	(free) ───────> Settling ───────> Still ─────────> Nearing ─────┬───────────> Kept     pushes wait until free
//	                                    │                           │
//	                                    └─> end, mark, take         └───────────> Imaged   pushes go on, parts are written
//
// In every state free ends the cut, and so does a report or a hold which shows that server 0 has ended it.
type Follower struct {
	number uint64 // of the cut that is held, 0 for none
	over   uint64 // no cut up to this one is held again
	plan   Plan
	state  stance
	steps  []uint64 // of the cut, nil until they are said
	held   *Answer
	said   []*Answer // to orders that were done
	busy   Order     // what is being done; no work for nothing
	vain   bool      // what is being written is to be removed
	names  []Named   // of what can't be taken back, oldest first
	closed error
}

// stance is how far a cut is on a server, as the drawing above has it.
type stance uint8

const (
	settling stance = iota
	still
	nearing
	kept
	imaged
)

// Named is work that was done for good, under its name, with the answer. It is in the journal with what the work has
// changed.
type Named struct {
	Name string `json:"name,omitempty"`
	Said []byte `json:"said,omitempty"`
}

// Order takes an order of server 0. A nil answer says that it is not there yet: the order comes again. begin is what
// the caller is to do now, which may be that of an earlier order.
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
	if !f.may(o) {
		return stale(o), ""
	}
	if o.Work == Reach {
		f.state, f.steps = nearing, o.Steps
	}
	f.busy = *o
	return nil, o.Work
}

// may says whether this server is where an order finds it in the first place. One that was started again may hold the
// cut anew, by an order that came late, and have steps by then that the cut has not, or no image: only what can't be
// taken back is done even so.
func (f *Follower) may(o *Order) bool {
	switch o.Work {
	case Reach:
		return f.state == still && !beyond(f.held.Steps, o.Steps)
	case Write:
		return f.state >= kept
	}
	return true
}

// answer is what came of an order that was done, nil if none was.
func (f *Follower) answer(w Work) *Answer {
	for _, a := range f.said {
		if a.Work == w {
			return a
		}
	}
	return nil
}

// beyond says whether a worker has come further than the steps of a cut.
func beyond(have, steps []uint64) bool {
	for w := range have {
		if w < len(steps) && have[w] > steps[w] {
			return true
		}
	}
	return false
}

// hold begins to hold pushes. A cut with a higher number shows that the one before is over.
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
	if f.busy.Work != "" { // it comes to its end before
		return nil, ""
	}
	f.number, f.plan, f.state = o.Number, o.Plan, settling
	return nil, Hold
}

// Idle says that no update is under way here since pushes are held, and what the tables have.
func (f *Follower) Idle(steps []uint64, step int64, whole bool) {
	if f.number == 0 || f.state != settling {
		return
	}
	f.state = still
	f.held = &Answer{Number: f.number, Work: Hold, Steps: steps, Step: step, Whole: whole}
}

// Resume holds the cut whose final work a process before this one has begun as server 0.
func (f *Follower) Resume(number uint64, plan Plan) {
	f.number, f.plan, f.state = number, plan, still
	f.held = &Answer{Number: number, Work: Hold}
}

// Did says what came of what was begun, or that it is not Wanted any more. remove says that the part which was written
// is not wanted.
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
	case o.Work == Reach && f.plan.lets():
		f.state = imaged
	case o.Work == Reach:
		f.state = kept
	case o.Name != "":
		f.Recall(Named{o.Name, said})
	}
	return false
}

// Wanted says whether a cut is held here still.
func (f *Follower) Wanted(number uint64) bool { return f.number == number && f.closed == nil }

// UpTo is the last step of a worker that the cut has, when the steps are said.
func (f *Follower) UpTo(worker int) uint64 { return f.steps[worker] }

// Busy is the order that is being done.
func (f *Follower) Busy() Order { return f.busy }

// free lets pushes go on, and answers when nothing of the cut is being done any more. begin is Free if the part is to
// be removed.
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

// end says that all cuts up to a number are over.
func (f *Follower) end(number uint64) {
	if f.over = max(f.over, number); f.number != 0 && f.number <= f.over {
		f.number, f.plan, f.steps, f.held, f.said = 0, nil, nil, nil, nil
	}
}

// Report takes a sign of life of server 0, with the highest number and the cut under way. One of before the hold ends
// nothing.
func (f *Follower) Report(last, under uint64) {
	if under != 0 {
		last = under - 1
	}
	f.end(last)
}

// Number is the cut that is held here, 0 for none.
func (f *Follower) Number() uint64 { return f.number }

// Plan is that cut's.
func (f *Follower) Plan() Plan { return f.plan }

// Keeps says whether a cut is held here in which all steps are in the tables, and stay what they are.
func (f *Follower) Keeps(number uint64) bool {
	return number != 0 && f.number == number && f.state == kept && f.closed == nil
}

// Holds says whether a worker's step must wait for the cut.
func (f *Follower) Holds(worker int, step uint64) bool {
	if f.number == 0 || f.state == imaged || f.closed != nil {
		return false
	}
	return f.steps == nil || step > f.steps[worker]
}

// Names are the names of what was done for good, for the base of a journal.
func (f *Follower) Names() []Named { return slices.Clone(f.names) }

// Recall remembers a name, of this process or the one before.
func (f *Follower) Recall(n Named) {
	f.names = append(slices.Clone(f.names), n)
	if over := len(f.names) - remembers; over > 0 {
		f.names = f.names[over:]
	}
}

// Close ends all holding: the job fails. A server that ends for itself refuses orders before they come here, so that
// they are sent again to the process that takes its place.
func (f *Follower) Close(why error) { f.closed = why }

func stale(o *Order) *Answer {
	return &Answer{Number: o.Number, Work: o.Work, Stale: true}
}
