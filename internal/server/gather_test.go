package server

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestGathersAreForgotten: when all have come to a collective, what the one before it brought is held if it is little,
// and no longer than little of all together is held; it is still known to be over. That nothing was brought is never
// forgotten.
func TestGathersAreForgotten(t *testing.T) {
	const most = keepGathered / 4
	for _, test := range []struct {
		sizes []int // of what each of two workers brings
		kept  []bool
	}{
		{[]int{4, 4, 4}, []bool{true, true, true}},
		{[]int{0, most, 0, most}, []bool{true, false, true, true}},
		{[]int{most / 2, most / 2, most / 2, most / 2, most / 2, 0}, []bool{false, true, true, true, true, true}},
		{[]int{4, most / 2, most, most / 2, 4}, []bool{true, true, false, true, true}},
	} {
		all := roster.New(roster.Options{Workers: 2})
		st := &state.Job{Roster: all}
		c := &gathering{st: st, epochs: &epochs{st: st}, byNumber: map[uint64]*gathered{}}
		var made []*gathered
		for n, size := range test.sizes {
			g := c.of(uint64(n+1), "AllGatherBytes", 0)
			for w := range 2 {
				g.have[w], g.data[w] = true, make([]byte, size)
			}
			if made = append(made, g); !c.complete(g) {
				t.Fatal("a collective of all is not complete")
			}
		}
		for i, g := range made {
			if held := g.data[0] != nil; held != test.kept[i] || held == g.forgotten || !g.done {
				t.Errorf("%v: collective %d: data held %v, forgotten %v, over %v", test.sizes, i+1, held, g.forgotten, g.done)
			}
		}
	}
}

// TestALateLifeRepeatsItsCollectives: a worker that is started again alone makes its collectives from the first on,
// however many the others have behind them, and waits at none of these.
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
	for n, want := range map[uint64]uint8{1: wire.StatusOK, 2: wire.StatusOK, all - keepGathers: wire.StatusOK, all: wire.StatusOK, all + 1: wire.StatusFailed} {
		send(t, s, message(t, wire.Header{Op: wire.OpGather, Worker: 1, Life: 2}, wire.Gather{N: n, Call: "BarrierWorker"}), want)
	}
}

// TestForgottenGathersAreRefused: of the collectives that are not remembered one by one, barriers are answered, and so
// is what nobody brought anything to, until something was brought; what comes after that is refused. So it is on a
// server that has come back.
func TestForgottenGathersAreRefused(t *testing.T) {
	quick := strategy.Strategy{Mode: strategy.ModeAsync, WaitTimeout: strategy.Duration(100 * time.Microsecond)}
	s := job{strategy: quick, workers: 1}.server(t)
	part := func(n uint64, call string, data []byte) *wire.Builder {
		return message(t, wire.Header{Op: wire.OpGather, Life: 1}, wire.Gather{N: n, Call: call, Data: data})
	}
	for n := range uint64(2 * keepGathers) {
		var data []byte
		if n%2 == 1 {
			data = []byte{}
		}
		if n == 99 {
			data = []byte("something")
		}
		send(t, s, part(n+1, "call", data), wire.StatusOK)
	}
	returned := job{strategy: quick, workers: 1}.server(t)
	returned.resume(t, s.facts(t))
	for n, want := range map[uint64]uint8{50: wire.StatusOK, 98: wire.StatusOK, 100: wire.StatusRefused, 102: wire.StatusRefused} {
		for _, s := range []*Server{s, returned} {
			send(t, s, part(n, "AllGatherBytes", []byte{}), want)
			send(t, s, part(n, "BarrierWorker", nil), wire.StatusOK)
		}
	}
}

// TestOtherValuesAreRefused: a worker that repeats a collective brings what it brought before, else it is refused, unless
// that is a barrier or another life. The others have the first.
func TestOtherValuesAreRefused(t *testing.T) {
	quick := strategy.Strategy{Mode: strategy.ModeAsync, WaitTimeout: strategy.Duration(100 * time.Microsecond)}
	s := job{strategy: quick, workers: 2}.server(t)
	part := func(worker uint32, n uint64, call, data string) *wire.Builder {
		return message(t, wire.Header{Op: wire.OpGather, Worker: worker, Life: 1},
			wire.Gather{N: n, Call: call, Data: []byte(data)})
	}
	hello := wire.Hello{Process: 5, Fingerprint: s.c.Fingerprint}
	send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, hello), wire.StatusOK)
	send(t, s, part(0, 1, "AllGather", "ten"), wire.StatusFailed) // worker 1 has not come
	send(t, s, part(0, 1, "AllGather", "twenty"), wire.StatusRefused)
	send(t, s, part(1, 1, "AllGather", "ten"), wire.StatusOK)
	send(t, s, part(0, 1, "AllGather", "twenty"), wire.StatusRefused)
	send(t, s, part(0, 1, "AllGather", "ten"), wire.StatusOK)
	send(t, s, part(0, 2, wire.Barrier, "some"), wire.StatusFailed)
	send(t, s, part(1, 2, wire.Barrier, ""), wire.StatusOK)
	send(t, s, part(0, 2, wire.Barrier, "others"), wire.StatusOK)
	leave := new(wire.Builder)
	leave.Reset(wire.Header{Op: wire.OpLeave, Worker: 1, Life: 1})
	send(t, s, leave, wire.StatusOK)
	hello.Process++
	send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, hello), wire.StatusOK)
	again := wire.Gather{N: 1, Call: "AllGather", Data: []byte("others")}
	send(t, s, message(t, wire.Header{Op: wire.OpGather, Worker: 1, Life: 2}, again), wire.StatusOK)
}
