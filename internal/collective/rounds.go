package collective

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/gofleet/gofleet/internal/awake"
)

// rounds holds the last two collectives of a rank: the one under way, and the one before, whose results other ranks may
// have to ask for again.
type rounds struct {
	clock *awake.Clock

	mu      sync.Mutex    // guards what follows
	number  uint64        // of the last one
	last    [2]*round     // by the lowest bit of their numbers
	since   time.Time     // when the last one began; zero when none is under way
	changed chan struct{} // closed and replaced when a collective begins, and by wake
}

func newRounds(clock *awake.Clock) *rounds {
	return &rounds{clock: clock, changed: make(chan struct{})}
}

// at returns the number of the last collective.
func (c *rounds) at() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number
}

// memory returns size bytes for a result, aligned for every element. It reuses the memory of the last collective but
// one if it is large enough: every rank has sent a part of the one after that, so none can ask for its results again.
func (c *rounds) memory(number uint64, size int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := c.last[number%2]; old != nil {
		if m := old.reclaim(); cap(m) >= size {
			return m[:size]
		}
	}
	words := make([]uint64, (size+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:size]
}

// open begins a round.
func (c *rounds) open(r *round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[r.what.number%2] = r
	c.number, c.since = r.what.number, c.clock.Now()
	c.announce()
}

// end records that no round is under way.
func (c *rounds) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Time{}
}

// wake has all messages that wait for a round check again.
func (c *rounds) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announce()
}

// announce wakes the waiting messages; mu is held.
func (c *rounds) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// current returns the round under way, nil if there is none, and when it began.
func (c *rounds) current() (*round, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return nil, time.Time{}
	}
	return c.last[c.number%2], c.since
}

// find returns the round of a number, or a channel that is closed when it may have begun, or an error if it is over.
func (c *rounds) find(number uint64) (*round, <-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.last[number%2]
	switch {
	case r != nil && r.what.number == number:
		return r, nil, nil
	case r != nil && r.what.number > number:
		return nil, nil, fmt.Errorf("%w: it is late: of collective %d, this rank is at %d", ErrMessage, number,
			c.number)
	}
	return nil, c.changed, nil
}
