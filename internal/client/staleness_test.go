package client

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestStaleness has another worker push three times between a worker's pull and its push.
func TestStaleness(t *testing.T) {
	for _, s := range []strategy.Strategy{strategy.Async(), strategy.HalfAsync(), strategy.SSP(9), strategy.Geo(1)} {
		t.Run(string(s.Mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 2, s)
				j.serve(0, 1)
				slow, fast := j.join(0, nil), j.join(1, nil)
				one, other := open(t, slow), open(t, fast)
				ids := []uint64{1, 2, 3, 4, 5, 6, 7, 8} // both servers have some
				one.train(1, ids, nil)
				check(t, slow.drain(t.Context()))
				before := slow.Counts()
				if before.MostStale != 0 {
					t.Errorf("alone: %+v", before)
				}
				st := one.step(1, ids, nil)
				check(t, one.Begin(t.Context(), st))
				for range 3 {
					other.train(1, ids, nil)
					check(t, fast.drain(t.Context()))
				}
				check(t, one.End(t.Context(), st))
				check(t, slow.drain(t.Context()))
				got := slow.Counts()
				if pushes, stale := got.Pushes-before.Pushes, got.Stale; pushes != 2 || stale != 2*3 || got.MostStale != 3 {
					t.Errorf("%d pushes to two servers, %d updates between, at most %d; want 2, 6 and 3", pushes, stale, got.MostStale)
				}
			})
		})
	}
}

// TestLookingAheadIsStale: with LookAhead a step whose rows were pulled before the worker's last push misses that, and nothing more;
// by default a step misses nothing of its own worker, whether the next batch is known or not.
func TestLookingAheadIsStale(t *testing.T) {
	for _, c := range []struct {
		ahead bool
		next  []uint64
		stale int64
	}{{false, nil, 0}, {false, []uint64{1, 2}, 0}, {true, nil, 0}, {true, []uint64{1, 2}, 3}} { // the first step has no push before it
		t.Run(fmt.Sprintf("look ahead %t, next %v", c.ahead, c.next), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Strategy{LookAhead: c.ahead})
				j.serve(0)
				cl := j.join(0, nil)
				th := open(t, cl)
				for range 4 {
					st := th.step(1, []uint64{1, 2}, c.next)
					check(t, th.Begin(t.Context(), st))
					synctest.Wait() // it computes, and what was asked for ahead arrives
					check(t, th.End(t.Context(), st))
				}
				check(t, cl.drain(t.Context()))
				if got, most := cl.Counts(), min(c.stale, 1); got.Pushes != 4 || got.Stale != c.stale || got.MostStale != most {
					t.Errorf("%+v, want 4 pushes, %d stale, at most by %d", got, c.stale, most)
				}
			})
		})
	}
}

// TestOneTripAStep: where the next batch is known, its rows come with the answer to this one's push, by default and with LookAhead.
//
// Promise: [G4] a step in async waits for one round trip at most
// Also: TestLookingAheadIsStale, TestLookAheadOverlaps (fleet)
func TestOneTripAStep(t *testing.T) {
	for _, ahead := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const steps = 6
			j := newJob(t, 1, 1, strategy.Strategy{LookAhead: ahead})
			j.serve(0)
			trips := 0
			cl := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
				if h.Op == wire.OpStep {
					trips++
				}
				return nil
			}})
			trips = 0 // those of joining
			th := open(t, cl)
			for i := range steps {
				next := []uint64{uint64(i + 1)}
				if i == steps-1 {
					next = nil
				}
				th.train(1, []uint64{uint64(i)}, next)
				synctest.Wait()
			}
			check(t, cl.drain(t.Context()))
			if trips > steps+2 {
				t.Errorf("look ahead %t: %d steps took %d trips, want no more than one each, and two to begin and end", ahead, steps, trips)
			}
		})
	}
}

// TestSyncIsNeverStale trains two workers in rounds.
func TestSyncIsNeverStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 2, strategy.Sync())
		j.serve(0, 1)
		clients := []*Client{j.join(0, nil), j.join(1, nil)}
		var training sync.WaitGroup
		for _, c := range clients {
			training.Go(func() {
				th := open(t, c)
				for range 5 {
					th.train(1, []uint64{3, 4}, []uint64{3, 4})
				}
			})
		}
		training.Wait()
		for w, c := range clients {
			if got := c.Counts(); got.Pushes != 2*5 || got.Stale != 0 {
				t.Errorf("worker %d: %+v, want 10 pushes, none stale", w, got)
			}
		}
	})
}
