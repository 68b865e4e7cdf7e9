package table

import "sync/atomic"

// clock counts the periods whose time rows remember.
type clock struct{ atomic.Uint32 }

// atLeast moves the clock on to a time that was read from a file; it never goes back.
func (c *clock) atLeast(time uint32) {
	for {
		now := c.Load()
		if now >= time || c.CompareAndSwap(now, time) {
			return
		}
	}
}

// Tick advances the clock whose time rows remember when they are pulled or pushed, and returns the new time. What
// period a tick ends, an epoch or a day, is the caller's choice; [Shrink] counts in ticks.
func (t *Sparse) Tick() uint32 { return t.clock.Add(1) }

// Clock is the number of ticks so far.
func (t *Sparse) Clock() uint32 { return t.clock.Load() }
