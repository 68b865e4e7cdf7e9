package update

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// await calls until it is true.
func await(t *testing.T, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); runtime.Gosched() {
		if time.Since(began) > 20*time.Second {
			t.Fatal("it does not come to that")
		}
	}
}

// held says whether an update that would begin now waits.
func held(m *moment) bool {
	if m.is.TryRLock() {
		m.is.RUnlock()
		return false
	}
	return true
}

// TestMomentsAreShared: calls that wait for the same update are made together, before the next update begins, and one at a time.
func TestMomentsAreShared(t *testing.T) {
	const calls = 20
	tables := new(Tables)
	m := &tables.moment
	m.is.RLock() // an update is under way
	var made, under atomic.Int32
	var all sync.WaitGroup
	for range calls {
		all.Go(func() {
			tables.Between(func() {
				if under.Add(1) != 1 {
					t.Error("two calls are made at a time")
				}
				runtime.Gosched()
				made.Add(1)
				under.Add(-1)
			})
		})
	}
	await(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.next != nil && m.next.left == calls
	})
	await(t, func() bool { return held(m) })
	all.Go(func() {
		m.is.RLock()
		defer m.is.RUnlock()
		if n := made.Load(); n != calls {
			t.Errorf("an update begins behind %d calls of %d", n, calls)
		}
	})
	m.is.RUnlock()
	all.Wait()
	if made.Load() != calls || held(m) {
		t.Errorf("%d calls are made, and updates wait: %t", made.Load(), held(m))
	}
}

// TestUpdatesGoOnBetweenMoments: where updates have waited for a moment, they go on for twenty times as long before they wait for another,
// which is taken at once where none is under way.
func TestUpdatesGoOnBetweenMoments(t *testing.T) {
	tables := new(Tables)
	m := &tables.moment
	done := make(chan struct{})
	between := func() {
		go tables.Between(func() { done <- struct{}{} })
	}
	// passes is for a time in which the update that is under way does not end.
	passes := func(d time.Duration) {
		select {
		case <-done:
			t.Fatal("a call is made in the middle of an update")
		case <-time.After(d):
		}
	}
	m.is.RLock()
	between()
	await(t, func() bool { return held(m) })
	passes(100 * time.Millisecond) // which other updates wait
	m.is.RUnlock()
	<-done
	await(t, func() bool { return !held(m) })

	m.is.RLock()
	between()
	looks := 0
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; looks++ {
		if held(m) && time.Now().Before(m.due) {
			t.Fatalf("updates wait again %v before they may", time.Until(m.due))
		}
		passes(time.Millisecond)
	}
	m.is.RUnlock()
	<-done
	if until := time.Until(m.due); looks == 0 || until > 5*time.Second {
		t.Errorf("after %d looks, updates wait again in %v", looks, until)
	}
}

// TestAMomentComesWithTheCallThatBringsIt: a call that comes when no update is under way any more does not wait until the one that leads tries
// again, which in virtual time never happens while a third waits for a lock of the second.
func TestAMomentComesWithTheCallThatBringsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var u Tables
		u.moment.is.RLock() // an update
		var all sync.WaitGroup
		all.Go(func() { u.Between(func() {}) })
		synctest.Wait()
		u.moment.is.RUnlock()
		began := time.Now()
		u.Between(func() {})
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waited %v", waited)
		}
		all.Wait()
	})
}
