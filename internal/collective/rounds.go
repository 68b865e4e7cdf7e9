package collective

import (
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/gofleet/gofleet/internal/awake"
)

// rounds are the last two collectives of a rank: the one under way, and the one before, whose results others may have
// to ask for again.
type rounds struct {
	clock *awake.Clock

	mu      sync.Mutex    // guards what follows
	number  uint64        // of the last one
	last    [2]*round     // by their numbers' lowest bit
	since   time.Time     // when the last one began; zero when none is under way
	changed chan struct{} // closed and replaced when one begins, or messages are to be looked at again
}

func newRounds(clock *awake.Clock) *rounds {
	return &rounds{clock: clock, changed: make(chan struct{})}
}

// at is the number of the last collective.
func (c *rounds) at() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.number
}

// memory is room for a result of that many bytes, at an address that suits every element. It is that of the last round
// but one where it fits: every rank has sent a part of the round after it, so none can ask for it again.
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

// open makes a round the one under way.
func (c *rounds) open(r *round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last[r.what.number%2] = r
	c.number, c.since = r.what.number, c.clock.Now()
	c.announce()
}

// end says that none is under way.
func (c *rounds) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Time{}
}

// wake has all messages that wait for a round looked at again.
func (c *rounds) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announce()
}

// announce wakes waiters for a change; mu is held.
func (c *rounds) announce() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// current is the round under way, nil if there is none, and when it began.
func (c *rounds) current() (*round, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return nil, time.Time{}
	}
	return c.last[c.number%2], c.since
}

// find is the round of a number, or a channel that is closed when it may be there; an error if it is over.
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
