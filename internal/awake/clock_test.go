package awake

import (
	"testing"
	"time"
	"unsafe"
)

// set is t as a process reads it after its wall clock was set forward by d: the monotonic part is what it was.
func set(t time.Time, d time.Duration) time.Time {
	const nanoseconds = 30 // bits of the first word below the seconds, in a time that has a monotonic part
	*(*uint64)(unsafe.Pointer(&t)) += uint64(d/time.Second) << nanoseconds
	return t
}

// TestWallClock sets the wall clock by an hour, either way, and it makes no difference.
//
// Promise: [G12] no clock that is set and no pause of a process makes others silent
// Also: TestSleep (internal/client, internal/server)
func TestWallClock(t *testing.T) {
	real, step := time.Now(), time.Duration(0)
	c := NewClock(time.Minute, func() time.Time { return set(real, step) })
	began := c.Now()
	for _, step = range []time.Duration{0, time.Hour, -time.Hour} {
		if got := set(real, step).Round(0).Sub(real.Round(0)); got != step {
			t.Fatalf("the wall clock was set by %v, not %v", got, step)
		}
		real = real.Add(time.Second)
	}
	if got := c.Since(began); got != 3*time.Second {
		t.Errorf("three seconds were %v", got)
	}
}

// TestSleep counts the time between readings, and of a longer gap the bound alone.
func TestSleep(t *testing.T) {
	now := time.Now()
	c := NewClock(8*time.Second, func() time.Time { return now })
	began := c.Now()
	for _, gap := range []time.Duration{3, 8, 3600, 1} {
		now = now.Add(gap * time.Second)
		c.Now()
	}
	if got, want := c.Since(began), 20*time.Second; got != want {
		t.Errorf("it counted %v, want %v", got, want)
	}
}
