package awake

import (
	"sync"
	"time"
)

// Clock is a clock that advances by at most a bound between two readings. It measures monotonic time, so that the wall
// clock may be set while it runs. Its methods may be called by many goroutines.
type Clock struct {
	most time.Duration
	time func() time.Time

	mu   sync.Mutex // guards what follows
	last time.Time  // of the last reading
	now  time.Time  // the clock's time then
}

// NewClock returns a clock over read, which is time.Now except in tests. The process must read the clock more often
// than most for as long as it runs, so that only a suspended process exceeds most.
func NewClock(most time.Duration, read func() time.Time) *Clock {
	now := read()
	return &Clock{most: most, time: read, last: now, now: now}
}

// Now reads the clock. Its times can be compared only with times of the same clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	read := c.time()
	c.now = c.now.Add(min(read.Sub(c.last), c.most))
	c.last = read
	return c.now
}

// Since returns the time since a time of this clock.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
