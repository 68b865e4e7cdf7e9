package table

// Tick advances the clock whose time rows remember when they are pulled or pushed, and returns the new time. What
// period a tick ends, an epoch or a day, is the caller's choice; [Shrink] counts in ticks.
func (t *Sparse) Tick() uint32 { return t.clock.Add(1) }

// Clock is the number of ticks so far.
func (t *Sparse) Clock() uint32 { return t.clock.Load() }

// SetClock moves the clock on to a time that was read from a file; it never goes back.
func (t *Sparse) SetClock(time uint32) { t.atLeast(time) }

// atLeast moves the clock on to a time that was read from a file.
func (t *Sparse) atLeast(time uint32) {
	for {
		now := t.clock.Load()
		if now >= time || t.clock.CompareAndSwap(now, time) {
			return
		}
	}
}
