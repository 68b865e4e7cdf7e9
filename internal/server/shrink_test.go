package server

import (
	"testing"

	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestMessagesOfADayComeTwice repeats every message of a day's end, right after itself and when it is over: one day
// ends.
func TestMessagesOfADayComeTwice(t *testing.T) {
	s := newServer(t, strategy.Async())
	clock := s.part.store.Tables[0].Clock
	freeze, save, commit := wire.Header{Op: wire.OpFreeze, Life: 1}, wire.Header{Op: wire.OpSave, Life: 1}, wire.Header{Op: wire.OpCommit, Life: 1}
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	for day, id := range []string{"a", "b"} {
		msg := wire.Save{ID: id, Shrink: &wire.Shrink{Unseen: 1}}
		for range 2 {
			send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
		}
		msg.Steps = []uint64{roster.Step(1, 1)}
		for range 2 {
			send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
		}
		answer, err := s.st.cut.Answer(id)
		freed, ok := answer.(wire.Freed)
		if !ok || err != nil {
			t.Fatalf("day %d: %v, error %v", day, answer, err)
		}
		msg.Freed = freed
		for range 2 {
			send(t, s, saveFrame(t, s, commit, msg), wire.StatusOK)
		}
		send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
		send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
		if s.st.cut.Holder() != "" || s.st.cut.Open() != "" || clock() != uint32(day+1) {
			t.Fatalf("after day %d the clock is at %d (a cut is open: %t)", day, clock(), s.st.cut.Holder() != "")
		}
		if got := freed.Rows[0]; got != day {
			t.Errorf("day %d dropped %d rows, want %d", day, got, day)
		}
	}
	send(t, s, pushOf(s, wire.Header{Seq: 2, Acked: 2}), wire.StatusOK)
	if s.part.store.Tables[0].Len() != 1 {
		t.Errorf("%d rows after a push of one", s.part.store.Tables[0].Len())
	}
}

// TestAPeriodOfANameEndsOnce: workers whose cuts failed have the same periods end in other cuts, one behind the other,
// and a server that comes back knows their names too: it answers with what they have dropped, and ends none twice.
func TestAPeriodOfANameEndsOnce(t *testing.T) {
	s := newServer(t, strategy.Async())
	end := func(s *Server, cut, name string) wire.Freed {
		t.Helper()
		msg := wire.Save{ID: cut, Period: name, Shrink: &wire.Shrink{Unseen: 1}}
		send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpFreeze, Life: 1}, msg), wire.StatusOK)
		msg.Steps = []uint64{roster.Step(1, 1)}
		send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpSave, Life: 1}, msg), wire.StatusOK)
		answer, err := s.st.cut.Answer(cut)
		freed, ok := answer.(wire.Freed)
		if !ok || err != nil {
			t.Fatalf("cut %s: %v, error %v", cut, answer, err)
		}
		msg.Abandon = true
		send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpCommit, Life: 1}, msg), wire.StatusOK)
		return freed
	}
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	first, second := end(s, "a", "p1"), end(s, "b", "p2")
	if first.Rows[0] != 0 || second.Rows[0] != 1 {
		t.Fatalf("periods have dropped %v and %v", first, second)
	}
	returned := newServer(t, strategy.Async())
	returned.resume(t, s.facts(t))
	for _, s := range []*Server{s, returned} {
		clock := s.part.store.Tables[0].Clock()
		again := []wire.Freed{end(s, "c", "p1"), end(s, "d", "p2"), end(s, "e", "p1")}
		if again[0].Rows[0] != 0 || again[1].Rows[0] != 1 || again[2].Rows[0] != 0 || s.part.store.Tables[0].Clock() != clock {
			t.Errorf("again they have dropped %v, and %d periods have ended", again, s.part.store.Tables[0].Clock()-clock)
		}
	}
}
