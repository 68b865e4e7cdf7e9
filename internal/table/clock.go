package table

import "sync/atomic"

// clock counts the periods; rows record the period of their last use.
type clock struct{ atomic.Uint32 }

// atLeast advances the clock to a time that was read from a file, unless it is later already.
func (c *clock) atLeast(time uint32) {
	for {
		now := c.Load()
		if now >= time || c.CompareAndSwap(now, time) {
			return
		}
	}
}

// Tick advances the clock whose time rows record when they are pulled or pushed, and returns the new time. The caller
// decides what period ends with a tick, an epoch or a day; [Shrink] counts in ticks.
func (t *Sparse) Tick() uint32 { return t.clock.Add(1) }

// Clock is the number of ticks so far.
func (t *Sparse) Clock() uint32 { return t.clock.Load() }
