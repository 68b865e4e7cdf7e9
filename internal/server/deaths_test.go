package server

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/awake"
	"github.com/gofleet/gofleet/strategy"
)

// TestSleep stops a server for an hour between two looks: no worker is dead when it wakes up, though none was heard of.
// One that is silent from then on is.
func TestSleep(t *testing.T) {
	s := newServer(t, strategy.Async())
	timeout, now := s.c.Strategy.WorkerTimeout.Std(), time.Now()
	s.st.Clock = awake.NewClock(timeout/4, func() time.Time { return now })
	now = now.Add(time.Hour)
	if all := s.deaths.silent(); len(all) > 0 {
		t.Fatalf("worker %d is dead after an hour in which the server slept", all[0].Worker)
	}
	for looks := 1; len(s.deaths.silent()) == 0; looks++ {
		if looks > 8 {
			t.Fatal("a silent worker is not dead after another worker timeout")
		}
		now = now.Add(timeout / 8)
	}
}
