package client

import (
	"sync"
	"testing"
	"testing/synctest"

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
				check(t, slow.Drain(t.Context()))
				before := slow.Counts()
				if before.MostStale != 0 {
					t.Errorf("alone: %+v", before)
				}
				st := one.step(1, ids, nil)
				check(t, one.Begin(t.Context(), st))
				for range 3 {
					other.train(1, ids, nil)
					check(t, fast.Drain(t.Context()))
				}
				check(t, one.End(t.Context(), st))
				check(t, slow.Drain(t.Context()))
				got := slow.Counts()
				if pushes, stale := got.Pushes-before.Pushes, got.Stale; pushes != 2 || stale != 2*3 || got.MostStale != 3 {
					t.Errorf("%d pushes to two servers, %d updates between, at most %d; want 2, 6 and 3", pushes, stale, got.MostStale)
				}
			})
		})
	}
}

// TestLookingAheadIsStale: a step whose rows were pulled before the worker's last push misses that, and nothing more.
func TestLookingAheadIsStale(t *testing.T) {
	for name, next := range map[string][]uint64{"ahead": {1, 2}, "not": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Async())
				j.serve(0)
				c := j.join(0, nil)
				th := open(t, c)
				for range 4 {
					st := th.step(1, []uint64{1, 2}, next)
					check(t, th.Begin(t.Context(), st))
					synctest.Wait() // it computes, and what was asked for ahead arrives
					check(t, th.End(t.Context(), st))
				}
				check(t, c.Drain(t.Context()))
				want := Counts{Pushes: 4}
				if next != nil {
					want.Stale, want.MostStale = 3, 1 // the first step had no push before it
				}
				if got := c.Counts(); got.Pushes != want.Pushes || got.Stale != want.Stale || got.MostStale != want.MostStale {
					t.Errorf("%+v, want %+v", got, want)
				}
			})
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
