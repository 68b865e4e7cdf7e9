package awake

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPulses: a loop that does not beat is stuck after its time, also where others beat, and one that has ended is not; a process that
// was asleep has no loop that is stuck.
func TestPulses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pulses
		a, b := p.Begin("a", 30*time.Second), p.Begin("b", time.Minute)
		look := func(seconds int, beats ...*Pulse) string {
			for range seconds {
				time.Sleep(time.Second)
				for _, b := range beats {
					b.Beat()
				}
			}
			return p.Stuck()
		}
		for i, want := range []string{"", "", "a"} {
			if got := look(15, b); got != want {
				t.Errorf("after %d s: %q is stuck, want %q", 15*(i+1), got, want)
			}
		}
		a.Beat()
		time.Sleep(time.Hour) // nobody has looked
		if got := p.Stuck(); got != "" {
			t.Errorf("after a sleep %q is stuck", got)
		}
		for range 3 {
			time.Sleep(looks)
			_ = p.Stuck()
		}
		if got := p.Stuck(); got != "a" {
			t.Errorf("%q is stuck, want a", got)
		}
		a.End()
		if got := look(1, b); got != "" {
			t.Errorf("%q is stuck, and a has ended", got)
		}
		(*Pulses)(nil).Begin("nobody asks", 0).Beat()
	})
}
