package server

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestGathersAreForgotten: when all have come to a collective, what the one before it brought is held no more, but still known to be over.
func TestGathersAreForgotten(t *testing.T) {
	c := &gathering{st: &state{roster: roster.New(roster.Options{Workers: 2})}, byNumber: map[uint64]*gathered{}}
	var made []*gathered
	for n := range uint64(3) {
		g := c.of(n+1, "AllGatherBytes", 0)
		for w := range 2 {
			g.have[w], g.data[w] = true, []byte("rows")
		}
		if made = append(made, g); !c.complete(g) {
			t.Fatal("a collective of all is not complete")
		}
	}
	for i, g := range made {
		if held := g.data[0] != nil; held != (i == 2) || !g.done {
			t.Errorf("collective %d of 3: data held %v, over %v", i+1, held, g.done)
		}
	}
}

// TestALateLifeRepeatsItsCollectives: a worker that is started again alone makes its collectives from the first on, however many the others
// have behind them, and waits at none of these.
func TestALateLifeRepeatsItsCollectives(t *testing.T) {
	quick := strategy.Strategy{Mode: strategy.ModeAsync, WaitTimeout: strategy.Duration(100 * time.Microsecond)} // for collectives that never end
	s := job{strategy: quick, workers: 2}.server(t)
	const all = 2*keepGathers + 1
	for n := range uint64(all) {
		part := message(t, wire.Header{Op: wire.OpGather, Life: 1}, wire.Gather{N: n + 1, Call: "BarrierWorker"})
		if n == 0 {
			send(t, s, part, wire.StatusFailed)
			send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 5, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
			leave := new(wire.Builder)
			leave.Reset(wire.Header{Op: wire.OpLeave, Worker: 1, Life: 1})
			send(t, s, leave, wire.StatusOK)
		}
		send(t, s, part, wire.StatusOK)
	}
	send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 6, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
	for n, want := range map[uint64]uint16{1: wire.StatusOK, 2: wire.StatusOK, all - keepGathers: wire.StatusOK, all: wire.StatusOK, all + 1: wire.StatusFailed} {
		send(t, s, message(t, wire.Header{Op: wire.OpGather, Worker: 1, Life: 2}, wire.Gather{N: n, Call: "BarrierWorker"}), want)
	}
}
