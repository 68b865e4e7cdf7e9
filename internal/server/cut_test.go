package server

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// scanning asks for the ids of the embedding, in a cut.
func scanning(t *testing.T, s *Server, cut string) *wire.Builder {
	t.Helper()
	b := new(wire.Builder)
	b.Reset(wire.Header{Op: wire.OpScan, Life: 1})
	if err := b.JSON(wire.Scan{Param: 1, Rows: 100, IDs: true, Cut: cut}); err != nil {
		t.Fatal(err)
	}
	return b
}

// statusOf sends a frame and returns the answer's status.
func statusOf(t *testing.T, s *Server, b *wire.Builder) uint8 {
	var reply transport.Reply
	s.door.handle(bodyOf(s, b), &reply)
	defer reply.Done()
	var f wire.Frame
	if err := f.Parse(bytes.Join(reply.Parts, nil)); err != nil {
		t.Error(err)
	}
	return f.Status
}

// TestACutIsKeptForReading: from the hold to the end pushes wait, and every page is of the same rows; messages that come
// twice change nothing, and those that come late find no cut.
func TestACutIsKeptForReading(t *testing.T) {
	for _, name := range []string{"ended", "its worker is gone"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, strategy.Async())
				send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
				send(t, s, scanning(t, s, "1"), wire.StatusStale)
				a := newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)})
				a.until(cut.Reached)
				pushed := make(chan uint8, 1)
				go func() { pushed <- statusOf(t, s, pushOf(s, wire.Header{Seq: 2})) }()
				send(t, s, scanning(t, s, "1"), wire.StatusOK)
				if err := s.part.Store.Tables[0].Pull([]uint64{3}, make([]float32, 2), 1); err != nil { // is born
					t.Fatal(err)
				}
				send(t, s, scanning(t, s, "1"), wire.StatusOK)
				s.st.Lock()
				if w, err := s.holding.kept("1"); err != nil || len(w.lists[1]) != 1 || w.lists[1][0] != 7 {
					t.Errorf("the cut has %+v, want row 7 alone; error %v", w, err)
				}
				s.st.Unlock()
				synctest.Wait()
				if w := weight(t, s); w != -1 {
					t.Errorf("weight %g while the cut is kept, want -1", w)
				}
				if name == "ended" {
					a.Ends = true
					a.whole()
				} else {
					s.st.Lock()
					s.st.Roster.Drop(0, 1, false)
					s.deaths.membership.depart(0, false)
					s.st.Unlock()
				}
				if status := <-pushed; (status == wire.StatusOK) != (name == "ended") {
					t.Errorf("the push has status %d", status)
				}
				synctest.Wait()
				if _, under := s.st.Leader.Report(); under != 0 || s.st.Follower.Number() != 0 {
					t.Error("the cut goes on")
				}
				if name == "ended" {
					send(t, s, scanning(t, s, "1"), wire.StatusStale)
				}
			})
		})
	}
}

// TestCutOfADeadWorkerNeverBegins: a save waits for another's cut, its worker is declared dead meanwhile, and its own cut
// never begins: nobody would end it.
//
// Promise: [G1] a cut waits for no step of a life that is over
// Also: TestACutWaitsForNoEarlierLife
func TestCutOfADeadWorkerNeverBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 2}.server(t)
		send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		a := newAnchor(t, s, cut.Ask{ID: "a", Task: taskOf(cut.Read)})
		a.until(cut.Reached)
		asked := make(chan uint8, 1)
		waiting := message(t, wire.Header{Op: wire.OpCut, Worker: 1, Life: 1}, cut.Ask{ID: "b", Task: taskOf(cut.Read)})
		go func() { asked <- statusOf(t, s, waiting) }()
		synctest.Wait()
		s.st.Lock()
		s.st.Roster.Drop(1, 1, false)
		s.deaths.membership.depart(1, false)
		s.st.Unlock()
		if status := <-asked; status != wire.StatusStale {
			t.Errorf("the dead worker's cut has status %d", status)
		}
		a.Ends = true
		a.whole()
		send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
		s.st.Lock() // the answer to the order that frees this server is still on its way
		last, _ := s.st.Leader.Report()
		s.st.Unlock()
		if last != 1 || weight(t, s) != -1 {
			t.Errorf("there were %d cuts, and the weight is %v, want -1", last, weight(t, s))
		}
	})
}

// TestACutWaitsForNoEarlierLife: servers have agreed on steps of a worker's life, of which this one lacks the last, and
// another process takes the worker's place before it comes: the cut waits for it no more, and holds what the new life
// pushes.
func TestACutWaitsForNoEarlierLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 2}.server(t)
		join := func(process uint64) {
			send(t, s, message(t, wire.Header{Op: wire.OpJoin, Worker: 1}, wire.Hello{Process: process, Fingerprint: s.c.Fingerprint}), wire.StatusOK)
		}
		join(2)
		send(t, s, pushOf(s, wire.Header{Worker: 1, Seq: 1}), wire.StatusOK)
		order := func(o cut.Order) { send(t, s, message(t, wire.Header{Op: wire.OpOrder}, o), wire.StatusOK) }
		order(cut.Order{Number: 1, Work: cut.Hold, Task: taskOf(cut.Read)})
		time.Sleep(10 * time.Second) // worker 1 misses heartbeats
		join(3)
		order(cut.Order{Number: 1, Work: cut.Reach, Steps: []uint64{roster.Step(1, 0), roster.Step(1, 2)}, Task: taskOf(cut.Read)})
		pushed := make(chan uint8, 1)
		push := pushOf(s, wire.Header{Worker: 1, Life: 2, Seq: 1})
		go func() { pushed <- statusOf(t, s, push) }()
		synctest.Wait()
		if w := weight(t, s); w != -1 || !s.st.Follower.Keeps(1) {
			t.Errorf("the weight is %v while the cut is kept (%t), want -1", w, s.st.Follower.Keeps(1))
		}
		order(cut.Order{Number: 1, Work: cut.Free})
		if status := <-pushed; status != wire.StatusOK {
			t.Errorf("the push has status %d", status)
		}
	})
}
