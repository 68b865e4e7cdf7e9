package awake

import (
	"sync"
	"time"
)

// Clock is a clock that moves on by at most a bound between two readings. It goes by monotonic time, so that the wall
// clock may be set while it runs. Its methods may be called by many goroutines.
type Clock struct {
	most time.Duration
	time func() time.Time

	mu   sync.Mutex // guards what follows
	last time.Time  // when it was read
	now  time.Time  // what it showed
}

// NewClock is a clock over another, which is time.Now but in tests. Somebody must read it more often than most for as
// long as the process runs: only a process that doesn't run is to miss that.
func NewClock(most time.Duration, read func() time.Time) *Clock {
	now := read()
	return &Clock{most: most, time: read, last: now, now: now}
}

// Now reads the clock. Times of one clock are compared with each other and with no others.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.time()
	c.now = c.now.Add(min(read.Sub(c.last), c.most))
	c.last = read
	return c.now
}

// Since is how long ago a time of this clock was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
