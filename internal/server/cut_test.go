package server

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

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

// TestACutIsKeptForReading: from freeze to the end, pushes wait, and every page is of the same rows; messages that come
// twice change nothing, and those that come late find no cut.
func TestACutIsKeptForReading(t *testing.T) {
	freeze, save, commit := wire.Header{Op: wire.OpFreeze, Life: 1}, wire.Header{Op: wire.OpSave, Life: 1}, wire.Header{Op: wire.OpCommit, Life: 1}
	for name, end := range map[string]func(s *Server, msg wire.Save){
		"ended": func(s *Server, msg wire.Save) {
			msg.Abandon = true
			for range 2 {
				send(t, s, saveFrame(t, s, commit, msg), wire.StatusOK)
			}
			send(t, s, saveFrame(t, s, freeze, msg), wire.StatusStale)
		},
		"its worker is gone": func(s *Server, _ wire.Save) {
			s.st.lock.Lock()
			defer s.st.lock.Unlock()
			s.st.roster.Drop(0, 1)
			s.deaths.membership.depart(0, false)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, strategy.Async())
				msg := wire.Save{ID: "a", Read: true}
				send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
				send(t, s, scanning(t, s, "a"), wire.StatusStale)
				for range 2 {
					send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
				}
				send(t, s, scanning(t, s, "a"), wire.StatusStale) // steps may be on their way
				msg.Steps = []uint64{roster.Step(1, 1)}
				for range 2 {
					send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
				}
				pushed := make(chan uint8, 1)
				go func() { pushed <- statusOf(t, s, pushOf(s, wire.Header{Seq: 2})) }()
				send(t, s, scanning(t, s, "a"), wire.StatusOK)
				if err := s.part.store.Tables[0].Pull([]uint64{3}, make([]float32, 2), 1); err != nil { // is born
					t.Fatal(err)
				}
				send(t, s, scanning(t, s, "a"), wire.StatusOK)
				if rows, err := s.st.cut.Rows("a"); err != nil || len(rows[1]) != 1 || rows[1][0] != 7 {
					t.Errorf("the cut has rows %v, want 7 alone; error %v", rows, err)
				}
				synctest.Wait()
				if w := weight(t, s); w != -1 {
					t.Errorf("weight %g while the cut is kept, want -1", w)
				}
				end(s, msg)
				if status := <-pushed; (status == wire.StatusOK) != (name == "ended") {
					t.Errorf("the push has status %d", status)
				}
				if s.st.cut.Holder() != "" || s.st.cut.Open() != "" {
					t.Error("the cut goes on")
				}
			})
		})
	}
}

// TestACutThatWasGivenUpEarly: its worker gives it up while the steps of the cut are waited for, which may never come;
// pushes go on at once.
func TestACutThatWasGivenUpEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, strategy.Async())
		msg := wire.Save{ID: "a", Read: true}
		send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpFreeze, Life: 1}, msg), wire.StatusOK)
		msg.Steps = []uint64{roster.Step(1, 1)}
		done := make(chan bool)
		go func() {
			send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpSave, Life: 1}, msg), wire.StatusStale)
			close(done)
		}()
		synctest.Wait()
		msg.Abandon = true
		send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpCommit, Life: 1}, msg), wire.StatusOK)
		<-done
		if s.st.cut.Holder() != "" || s.st.cut.Open() != "" {
			t.Error("the cut goes on")
		}
		send(t, s, pushOf(s, wire.Header{Seq: 2}), wire.StatusOK)
	})
}

// TestNobodyCutsAfterDeath: a save waits for another's cut, its worker is declared dead meanwhile, and its own cut
// never begins: nobody would end it.
func TestNobodyCutsAfterDeath(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := job{strategy: strategy.Async(), workers: 2}.server(t)
		join := new(wire.Builder)
		join.Reset(wire.Header{Op: wire.OpJoin, Worker: 1})
		if err := join.JSON(wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}); err != nil {
			t.Fatal(err)
		}
		send(t, s, join, wire.StatusOK)
		freeze, commit := wire.Header{Op: wire.OpFreeze, Life: 1}, wire.Header{Op: wire.OpCommit, Life: 1}
		send(t, s, saveFrame(t, s, freeze, wire.Save{ID: "a"}), wire.StatusOK)
		frozen := make(chan uint8, 1)
		freeze.Worker = 1
		waiting := saveFrame(t, s, freeze, wire.Save{ID: "b"})
		go func() { frozen <- statusOf(t, s, waiting) }()
		synctest.Wait()
		s.st.lock.Lock()
		s.st.roster.Drop(1, 1)
		s.deaths.membership.depart(1, false)
		s.st.lock.Unlock()
		send(t, s, saveFrame(t, s, commit, wire.Save{ID: "a", Abandon: true}), wire.StatusOK)
		if status := <-frozen; status != wire.StatusStale {
			t.Errorf("the dead worker's cut has status %d", status)
		}
		send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
		if w := weight(t, s); w != -1 {
			t.Errorf("the weight is %v, want -1", w)
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
			b := new(wire.Builder)
			b.Reset(wire.Header{Op: wire.OpJoin, Worker: 1})
			if err := b.JSON(wire.Hello{Process: process, Fingerprint: s.c.Fingerprint}); err != nil {
				t.Fatal(err)
			}
			send(t, s, b, wire.StatusOK)
		}
		join(2)
		send(t, s, pushOf(s, wire.Header{Worker: 1, Seq: 1}), wire.StatusOK)
		freeze, save := wire.Header{Op: wire.OpFreeze, Life: 1}, wire.Header{Op: wire.OpSave, Life: 1}
		msg := wire.Save{ID: "a", Read: true}
		send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
		time.Sleep(10 * time.Second) // worker 1 misses heartbeats
		join(3)
		msg.Steps = []uint64{roster.Step(1, 0), roster.Step(1, 2)}
		send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
		pushed := make(chan uint8, 1)
		push := pushOf(s, wire.Header{Worker: 1, Life: 2, Seq: 1})
		go func() { pushed <- statusOf(t, s, push) }()
		synctest.Wait()
		if w := weight(t, s); w != -1 {
			t.Errorf("the weight is %v while the cut is kept, want -1", w)
		}
		msg.Abandon = true
		send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpCommit, Life: 1}, msg), wire.StatusOK)
		if status := <-pushed; status != wire.StatusOK {
			t.Errorf("the push has status %d", status)
		}
	})
}
