package update

import (
	"sync"
	"time"
)

// moment is between two updates, when the tables may be read as they are. Where updates are always under way, the next
// ones wait for it: calls that come meanwhile share it, and it takes updates a twentieth of their time at most.
type moment struct {
	// is read-locked by updates, several at a time, from their first change to the last.
	is sync.RWMutex
	mu sync.Mutex
	// next is what waits for a moment, nil for nothing.
	next *sharing
	// due is when updates may be made to wait again; one sharing at a time looks at it.
	due time.Time
}

// sharing are calls that share a moment, one after the other.
type sharing struct {
	came chan struct{} // closed when it has come
	left int           // calls that are not over, guarded by the moment's mu
	one  sync.Mutex    // held by the call that is made
}

const (
	// fewestTries are for a moment in which no update is under way, one a millisecond.
	fewestTries = 4
	// rest is how much longer than updates have waited for a moment they go on before they wait for the next, up to
	// longestRest.
	rest        = 20
	longestRest = 5 * time.Second
)

// Between calls do between two updates: none is in the tables in part, and none begins to change them meanwhile, so
// that do is to be quick. It waits for that.
func (t *Tables) Between(do func()) {
	m := &t.moment
	m.mu.Lock()
	s, leads := m.next, m.next == nil
	if leads {
		s = &sharing{came: make(chan struct{})}
		m.next = s
	}
	s.left++
	m.mu.Unlock()
	if leads {
		m.await()
		m.mu.Lock()
		m.next = nil // calls that come now wait for another
		m.mu.Unlock()
		close(s.came)
	}
	<-s.came
	defer m.leave(s)
	s.one.Lock()
	defer s.one.Unlock()
	do()
}

// await returns when no update is under way, and none begins.
func (m *moment) await() {
	for try := 1; !m.is.TryLock(); try++ {
		if now := time.Now(); try >= fewestTries && now.After(m.due) {
			m.is.Lock()
			m.due = time.Now().Add(min(rest*time.Since(now), longestRest))
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// leave lets updates go on when the last call is over.
func (m *moment) leave(s *sharing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.left--; s.left == 0 {
		m.is.Unlock()
	}
}
