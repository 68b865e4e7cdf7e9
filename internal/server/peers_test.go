package server

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestARepeatedPushIsNotAnotherWorker sends one worker's push three times in a round of two workers: it waits for the
// other worker, however often it came.
func TestARepeatedPushIsNotAnotherWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Sync(), workers: 2}.server(t)
		var pushing sync.WaitGroup
		for range 3 {
			pushing.Go(func() { send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK) })
		}
		synctest.Wait()
		if w, step := weight(t, s), s.part.Store.Step(); w != 0 || step != 0 {
			t.Errorf("weight %g at step %d while worker 1 is missing, want 0 at 0", w, step)
		}
		var hello wire.Builder
		hello.Reset(wire.Header{Op: wire.OpJoin, Worker: 1})
		if err := hello.JSON(wire.Hello{Process: 1, Fingerprint: s.c.Fingerprint}); err != nil {
			t.Fatal(err)
		}
		send(t, s, &hello, wire.StatusOK)
		send(t, s, pushOf(s, wire.Header{Seq: 1, Worker: 1}), wire.StatusOK)
		pushing.Wait()
		if w, step := weight(t, s), s.part.Store.Step(); w != -1 || step != 1 {
			t.Errorf("weight %g at step %d after the round, want -1 at 1", w, step)
		}
	})
}

// TestBookkeepingStaysSmall makes a thousand steps: what the server remembers of them does not grow.
func TestBookkeepingStaysSmall(t *testing.T) {
	for name, choice := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, choice)
			for step := range uint64(1000) {
				send(t, s, pushOf(s, wire.Header{Seq: step + 1, Round: step, Acked: step + 1}), wire.StatusOK)
				if n := s.st.Roster.Window(0).Len(); n > 1 {
					t.Fatalf("%d steps are remembered after %d, of which all but one were acknowledged", n, step+1)
				}
			}
			if w := weight(t, s); w != -1000 {
				t.Errorf("weight %g, want -1000", w)
			}
		})
	}
}

// TestBrokenFramesEndNothing gives the handler every prefix of a push and bytes that are none: each is refused, and the
// next good push is served.
func TestBrokenFramesEndNothing(t *testing.T) {
	s := newServer(t, strategy.Async())
	good := bodyOf(s, pushOf(s, wire.Header{Seq: 1}))
	for n := range len(good) {
		var reply transport.Reply
		s.door.handle(good[:n], &reply)
		var f wire.Frame
		if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
			t.Fatalf("%d of %d bytes: the answer is broken too: %v", n, len(good), err)
		}
		if f.Status == wire.StatusOK {
			t.Errorf("%d of %d bytes were taken for a push", n, len(good))
		}
		reply.Done()
	}
	if w := weight(t, s); w != 0 {
		t.Errorf("weight %g after broken pushes", w)
	}
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	if w := weight(t, s); w != -1 {
		t.Errorf("weight %g after a good push, want -1", w)
	}
}
