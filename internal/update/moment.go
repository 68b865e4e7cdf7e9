package update

import (
	"sync"
	"time"
)

// moment is a moment between two updates, when the tables may be read consistently. If updates are always under way,
// the next ones wait for it: calls that come meanwhile share it, and it takes at most a twentieth of the updates' time.
type moment struct {
	// is is read-locked by updates, several at a time, from their first change to the last.
	is sync.RWMutex
	mu sync.Mutex
	// next are the calls that wait for a moment, nil if there are none.
	next *sharing
	// due is when updates may be made to wait again; one sharing at a time uses it.
	due time.Time
}

// sharing are calls that share a moment, one after the other.
type sharing struct {
	came chan struct{} // closed when the moment has come
	more chan struct{} // has room for one: another call waits, which may know that no update is under way
	left int           // calls that have not ended, guarded by the moment's mu
	one  sync.Mutex    // held by the running call
}

const (
	// fewestTries are the attempts at a moment without updates under way, one a millisecond, before updates wait.
	fewestTries = 4
	// rest is the factor between the time that updates waited for a moment and the time until they wait for the next,
	// at most longestRest.
	rest        = 20
	longestRest = 5 * time.Second
)

// Between calls do between two updates: no update is partly in the tables, and none begins to change them meanwhile, so
// that do must be quick. Between waits for such a moment.
func (t *Tables) Between(do func()) {
	m := &t.moment
	m.mu.Lock()
	s, leads := m.next, m.next == nil
	if leads {
		s = &sharing{came: make(chan struct{}), more: make(chan struct{}, 1)}
		m.next = s
	}
	s.left++
	m.mu.Unlock()
	if !leads {
		select {
		case s.more <- struct{}{}:
		default:
		}
	} else {
		m.await(s.more)
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

// await returns when no update is under way, and none can begin. It tries each millisecond, and if another call comes:
// one that holds a server's lock, under which no update is, must not wait for time to pass.
func (m *moment) await(more <-chan struct{}) {
	for try := 1; !m.is.TryLock(); {
		if now := time.Now(); try >= fewestTries && now.After(m.due) {
			m.is.Lock()
			m.due = time.Now().Add(min(rest*time.Since(now), longestRest))
			return
		}
		select {
		case <-more:
		case <-time.After(time.Millisecond):
			try++
		}
	}
}

// leave lets updates go on when the last call has ended.
func (m *moment) leave(s *sharing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.left--; s.left == 0 {
		m.is.Unlock()
	}
}
