package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestRunSleepsDuringPushes: Run is woken when the last worker has left, and not by pushes.
func TestRunSleepsDuringPushes(t *testing.T) {
	s := newServer(t, strategy.Async())
	ending := func() <-chan struct{} {
		s.st.Lock()
		defer s.st.Unlock()
		return s.st.Ending
	}
	before := ending()
	woken := func() bool {
		select {
		case <-before:
			return true
		default:
			return false
		}
	}
	var b wire.Builder
	for step := range uint64(3) {
		b.Reset(wire.Header{Op: wire.OpStep, Life: 1, Seq: step + 1, Samples: 1, Version: wire.NoDense})
		b.Dense(make([]float32, 4))
		send(t, s, &b, wire.StatusOK)
	}
	if woken() {
		t.Error("a push wakes Run")
	}
	b.Reset(wire.Header{Op: wire.OpLeave, Life: 1})
	send(t, s, &b, wire.StatusOK)
	if !woken() {
		t.Error("nobody wakes Run when the last worker has left")
	}
}
