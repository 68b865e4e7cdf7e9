package table

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gofleet/gofleet/internal/panics"
)

// rowsForAHand is the least number of a call's rows that are worth another core's start.
const rowsForAHand = 1024

// Share calls do for every unit, each once, on so many cores, with the number of the core that does it. What a rule or
// an initializer of the program panics with is its error: no caller could recover it from another goroutine.
func Share(hands, units int, do func(hand, unit int)) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func(hand int) {
		defer func() {
			if v := recover(); v != nil {
				err := panics.Error("the update rule or an initializer", v)
				failed.CompareAndSwap(nil, &err)
			}
		}()
		for unit := int(next.Add(1)) - 1; unit < units; unit = int(next.Add(1)) - 1 {
			do(hand, unit)
		}
	}
	var others sync.WaitGroup
	for hand := 1; hand < hands; hand++ {
		others.Go(func() { work(hand) })
	}
	work(0)
	others.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// hands returns the number of cores for a call of so many ids. Where shards have common room, the first of them in the
// call's order get it, one after the other.
func (t *Sparse) hands(ids int) int {
	if !t.spread || t.bound != nil {
		return 1
	}
	return max(1, min(runtime.GOMAXPROCS(0), ids/rowsForAHand))
}

// byHands works through the shards with several cores. Each shard is one core's, in the order of the call, so that
// the table is the same as after one core.
func (t *Sparse) byHands(c *call, hands, first int, do blockFunc) {
	all := make([]*call, hands)
	all[0] = c
	for i := range all[1:] {
		all[1+i] = t.calls.Get().(*call)
		all[1+i].prepare(c.rows, c.clicks, c.step, c.clock)
		all[1+i].state.SetRateFactor(t.steps.factorAt(c.step))
	}
	c.err = Share(hands, len(t.shards), func(hand, i int) {
		i = (first + i) & (len(t.shards) - 1)
		t.runShard(i, c.of(i), all[hand], do)
	})
	for _, h := range all[1:] {
		c.add(h)
		h.letGo()
		t.calls.Put(h)
	}
}

// add adds the outcome of a hand's shards.
func (c *call) add(h *call) {
	c.res.Applied, c.res.Born = c.res.Applied+h.res.Applied, c.res.Born+h.res.Born
	c.res.Waiting, c.res.Full = c.res.Waiting+h.res.Waiting, c.res.Full+h.res.Full
	if r := h.res.Refused; r != nil {
		if c.res.Refused != nil {
			*r = append(*r, *c.res.Refused...)
		}
		c.res.Refused = r
	}
	c.nearly, c.stops, c.grown = c.nearly || h.nearly, c.stops || h.stops, c.grown || h.grown
	h.nearly, h.stops, h.grown = false, false, false
}
