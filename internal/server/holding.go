package server

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
)

// holding does on a server what server 0 orders in a cut, as the machine of package cut allows. What it begins goes on
// beside the request that brought the order, and later requests ask for what came of it.
type holding struct {
	*inHand
	st        *state.Job
	part      *state.Part
	store     *table.Store // part's
	saving    *saving
	reloading *reloading
	changed   *changed
	journal   *state.Journal
	segments  *segments
	// ends is the record of a period's end. saving and reloading have records for their works.
	ends state.Event[endedRecord]
	// It is a twentieth of the worker timeout, below the time of one attempt.
	patience time.Duration // of a request
	// wrote is the work whose part was written last, which may be removed yet.
	wrote *work // the last part
	// Run asks by it whether a server that ends has updates which are in no checkpoint.
	newest   source // the last checkpoint of the job's own of which it took an image, whole or not
	newestAt uint64 // the version of the weights in it
	// under counts the goroutines that do works. Run waits for them when all waits have ended.
	under sync.WaitGroup
	log   *slog.Logger
}

// endedRecord is the end of a period, by the name that server 0 has given it.
type endedRecord struct {
	cut.Named
	How     wire.Shrink `json:"how"`
	Dropped [][]uint64  `json:"dropped"` // rows, by table
}

// register has outlive a kill what was done for good. The names of such works are facts and part of their records, so
// that a work that is ordered again is answered by its name.
func (c *holding) register(m *state.Memory) {
	state.AddFact(m, "names", c.follower.Names, func(then []cut.Named) {
		for _, n := range then {
			c.follower.Recall(n)
		}
	})
	c.ends = state.TryEvent(m, "end", func(_ context.Context, r endedRecord) error {
		c.follower.Recall(r.Named)
		return c.store.EndPeriodAgain(table.Shrink(r.How), r.Dropped)
	})
}

// handle answers an order that came from server 0 by a message. Server 0's own come by answer.
func (c *holding) handle(_ *wire.Frame, o *cut.Order, r *state.Reply) error {
	a, err := c.answer(o, func() bool { return false })
	if err != nil {
		return err
	}
	return r.JSON(a)
}

// answer begins what an order wants and says what came of it; without a work where it is not done yet. It waits at most
// for the patience, so that an order that takes long is asked for again and again; withdrawn ends the wait sooner. A
// server that has come back takes no hold before it is known to lack nothing, and one that closes takes no order.
func (c *holding) answer(o *cut.Order, withdrawn func() bool) (*cut.Answer, error) {
	c.st.Lock()
	defer c.st.Unlock()
	var a *cut.Answer
	err := c.st.Poll(c.patience, func() bool {
		if o.Work == cut.Hold && !c.st.Agreed() || c.st.IsClosing() {
			return withdrawn()
		}
		var begin cut.Work
		if a, begin = c.follower.Order(o); begin != "" {
			c.begin(o.Number, begin)
			if begin != cut.Free {
				a, _ = c.follower.Order(o)
			}
		}
		c.tidy()
		return a != nil || withdrawn()
	})
	if a == nil {
		a = &cut.Answer{Number: o.Number}
	}
	return a, err
}

// begin begins a work. Locked. Each work runs on a goroutine of its own, which reports to the machine by Did or Idle
// and then wakes all who wait.
func (c *holding) begin(number uint64, w cut.Work) {
	o := c.follower.Busy()
	c.st.Broadcast()
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

// hold says how far each worker is when no update is under way. It says too whether the tables have lost what tells
// changed rows from others, so that a checkpoint must be whole.
func (c *holding) hold(number uint64) {
	c.st.Lock()
	defer c.st.Unlock()
	c.st.AwaitIdle()
	if !c.follower.Wanted(number) {
		return
	}
	steps := make([]uint64, c.st.Roster.Workers())
	for w := range steps {
		steps[w] = c.st.Roster.Last(w)
	}
	whole := c.follower.Plan().Has(cut.Write) && c.saving.tracker.Remade()
	c.follower.Idle(steps, c.store.Step(), whole)
	c.st.Broadcast()
}

// reach waits for the steps of the cut. Steps of a worker that is gone are waited for no more. The wait has the
// strategy's wait timeout; a failed one is the order's answer, and gives the cut up.
func (c *holding) reach(o *cut.Order) {
	c.st.Lock()
	defer c.st.Unlock()
	wanted := func() bool { return !c.follower.Wanted(o.Number) || c.saving.applied(c.follower.UpTo) }
	err := c.st.Await(wanted, func() string { return "for the steps of a cut" })
	if c.st.IsClosing() {
		return // who takes this one's place is asked again
	}
	var said []byte
	if err == nil && c.follower.Wanted(o.Number) {
		said, err = c.aside(o)
	}
	c.follower.Did(said, err)
	c.st.Broadcast()
}

// end ends the period of this server's tables, and records that with its name. A server with the name in its journal
// does not come here again: the machine answers by the name.
func (c *holding) end(o *cut.Order) {
	var how wire.Shrink
	err := json.Unmarshal(o.How, &how)
	var done []table.Shrunk
	if err == nil {
		done, err = c.store.EndPeriod(table.Shrink(how))
	}
	r := endedRecord{Named: cut.Named{Name: o.Name}, How: how}
	var freed wire.Freed
	for e, t := range c.store.Tables {
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
		c.log.Info("a period has ended", "rows dropped", freed.Rows, "ids forgotten", freed.Waiting)
	}
	c.follower.Did(r.Said, err)
	c.st.Broadcast()
}
