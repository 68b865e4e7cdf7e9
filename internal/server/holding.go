package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// holding executes server 0's orders in a cut, as the state machine of package cut allows. The work that an order
// begins goes on after its request, and later requests ask for the outcome.
type holding struct {
	*works
	changed *changed
	// ends is the record of a period's end. saving and reloading have the records of their works.
	ends state.Event[endedRecord]
	// patience is a twentieth of the worker timeout, below the time of one attempt.
	patience time.Duration // bound of a request
}

// endedRecord is the end of a period, with the name that server 0 has given it.
type endedRecord struct {
	cut.Named
	How     wire.Shrink `json:"how"`
	Dropped [][]uint64  `json:"dropped"` // rows, by table
}

// register makes works that can't be undone survive a kill. Their names are facts and part of their records, so that a
// work that is ordered again is answered by its name.
func (c *holding) register(m *state.Memory) {
	state.AddFact(m, "names", c.follower.Names, func(then []cut.Named) {
		for _, n := range then {
			c.follower.Recall(n)
		}
	})
	c.ends = state.TryEvent(m, "end", func(_ context.Context, r endedRecord) error {
		c.follower.Recall(r.Named)
		c.st.Remade.Add(2)
		return c.part.Store.EndPeriodAgain(table.Shrink(r.How), r.Dropped)
	})
}

// handle answers an order that server 0 has sent in a message. Server 0 calls answer for its own orders.
func (c *holding) handle(_ *wire.Frame, o *cut.Order, r *state.Reply) error {
	a, err := c.answer(o, func() bool { return false })
	if err != nil {
		return err
	}
	return r.JSON(a)
}

// answer begins the work of an order and returns its outcome; the answer has no Work while it is not done. It waits at
// most for patience, so that a long work is asked for again and again; withdrawn ends the wait sooner. A server that
// has come back takes no hold until it is known to lack nothing, and one that closes takes no order.
func (c *holding) answer(o *cut.Order, withdrawn func() bool) (*cut.Answer, error) {
	c.st.Lock()
	defer c.st.Unlock()
	var a *cut.Answer
	err := c.st.Poll(c.patience, func() bool {
		if o.Work == cut.Hold && !c.st.Agreed() || c.st.IsClosing() {
			return withdrawn()
		}
		held := c.follower.Number()
		var begin cut.Work
		if a, begin = c.follower.Order(o); begin != "" {
			c.begin(o.Number, begin)
			if begin != cut.Free {
				a, _ = c.follower.Order(o)
			}
		}
		if c.tidy(); c.follower.Number() != held {
			c.st.Broadcast() // pushes that waited for the end of a cut go on
		}
		return a != nil || withdrawn()
	})
	if a == nil {
		a = &cut.Answer{Number: o.Number}
	}
	return a, err
}

// begin begins a work. The caller holds the lock. Each work that takes time runs on a goroutine of its own, which
// reports to the state machine by Did or Idle and then wakes all waiters.
func (c *holding) begin(number uint64, w cut.Work) {
	o := c.follower.Busy()
	c.st.Broadcast()
	if (w == cut.Reach || o.Name != "") && !slices.Equal(o.Task.Plan(), c.follower.Plan()) {
		c.follower.Did(nil, fmt.Errorf("%q is ordered for another task than the cut's", w))
		return
	}
	switch w {
	case cut.Hold:
		c.under.Go(func() { c.hold(number) })
	case cut.Reach:
		c.under.Go(func() { c.reach(&o) })
	case cut.Write:
		c.write(&o)
	case cut.End:
		c.under.Go(func() { c.end(&o) })
	case cut.Mark:
		c.under.Go(func() { c.mark(&o) })
	case cut.Take:
		c.under.Go(func() { c.take(&o) })
	case cut.Free:
		c.remove(number)
	default:
		c.follower.Did(nil, fmt.Errorf("a server does no work %q in a cut", w))
	}
}

// hold reports how far each worker is when no update is under way, and whether the tables can no longer tell changed
// rows from others, so that the checkpoint must have all rows.
func (c *holding) hold(number uint64) {
	c.st.Lock()
	defer c.st.Unlock()
	c.st.AwaitIdle()
	if !c.follower.Wanted(number) {
		return
	}
	far := cut.Answer{Step: c.part.Store.Step(), Whole: c.follower.Plan().Has(cut.Write) && c.saving.tracker.Remade()}
	for w := range c.st.Roster.Workers() {
		far.Steps, far.In = append(far.Steps, c.st.Roster.Last(w)), append(far.In, c.st.Roster.In(w))
	}
	c.follower.Idle(far)
	c.st.Broadcast()
}

// reach waits for the steps of the cut, except those of workers that are gone. It has the strategy's wait timeout; a
// failed wait is the order's answer, and gives the cut up.
func (c *holding) reach(o *cut.Order) {
	c.st.Lock()
	defer c.st.Unlock()
	wanted := func() bool { return !c.follower.Wanted(o.Number) || c.saving.applied(c.follower.UpTo) }
	err := c.st.Await(wanted, func() string { return "for the steps of a cut" })
	if c.st.IsClosing() {
		return // server 0 orders it again from the process that takes this one's place
	}
	var said []byte
	if err == nil && c.follower.Wanted(o.Number) {
		said, err = c.aside(o)
	}
	c.follower.Did(said, err)
	c.st.Broadcast()
}

// end ends the period of this server's tables, or has them make room, and records that with its name. A repeated order
// does not reach it: the state machine answers by the name.
func (c *holding) end(o *cut.Order) {
	how := o.Task.Shrink.Shrink
	remade := func() { c.st.Remade.Add(1) }
	c.part.Updates.Between(remade)
	done, err := c.part.Store.EndPeriod(table.Shrink(how))
	c.part.Updates.Between(remade)
	r := endedRecord{Named: cut.Named{Name: o.Name}, How: how}
	var freed wire.Freed
	for e, t := range c.part.Store.Tables {
		if e < len(done) {
			freed.Rows, freed.Waiting = append(freed.Rows, done[e].Rows), append(freed.Waiting, done[e].Waiting)
		}
		r.Dropped = append(r.Dropped, t.Dropped())
	}
	if err == nil {
		r.Said, err = json.Marshal(freed)
	}
	c.st.Lock()
	defer c.st.Unlock()
	if err == nil {
		c.ends.Note(r)
		for e := range done {
			if done[e].Rows > 0 {
				c.changed.anew(e)
			}
		}
		said := "a period has ended"
		if how.Evict {
			said = "tables have made room"
		}
		c.log.Info(said, "rows dropped", freed.Rows, "ids forgotten", freed.Waiting)
	}
	c.follower.Did(r.Said, err)
	c.st.Broadcast()
}
