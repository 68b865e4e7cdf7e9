package server

import (
	"os"
	"testing"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// saveFrame is a message of a checkpoint, from the worker and job that h says.
func saveFrame(t *testing.T, s *Server, h wire.Header, msg wire.Save) *wire.Builder {
	t.Helper()
	b := new(wire.Builder)
	b.Reset(h)
	if err := b.JSON(msg); err != nil {
		t.Fatal(err)
	}
	return b
}

// partOf is what a server says of its part of a save, when it is written.
func partOf(t *testing.T, s *Server, id string) wire.Part {
	t.Helper()
	send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpPart, Life: 1}, wire.Save{ID: id}), wire.StatusOK)
	answer, err := s.st.cut.Answer(id)
	part, ok := answer.(wire.Part)
	if !ok || err != nil {
		t.Fatalf("save %s has part %v, error %v", id, answer, err)
	}
	return part
}

// TestMessagesOfASaveComeTwice repeats every message of a save, right after itself and when the save is over: the same
// answers, and no cut that nobody would end.
func TestMessagesOfASaveComeTwice(t *testing.T) {
	s := newServer(t, strategy.Async())
	msg := wire.Save{Dir: t.TempDir(), ID: "a"}
	freeze, save, commit := wire.Header{Op: wire.OpFreeze, Life: 1}, wire.Header{Op: wire.OpSave, Life: 1}, wire.Header{Op: wire.OpCommit, Life: 1}
	send(t, s, pushOf(s, wire.Header{Seq: 1}), wire.StatusOK)
	for range 2 {
		send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
	}
	msg.Steps = []uint64{roster.Step(1, 1)}
	for range 2 {
		send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
	}
	msg.Parts = []wire.Part{partOf(t, s, msg.ID)}
	for range 2 {
		send(t, s, saveFrame(t, s, commit, msg), wire.StatusOK)
	}
	send(t, s, pushOf(s, wire.Header{Seq: 2, Acked: 2}), wire.StatusOK)
	send(t, s, saveFrame(t, s, commit, msg), wire.StatusOK)
	send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
	send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
	if s.st.cut.Holder() != "" || s.st.cut.Open() != "" {
		t.Fatal("a late message of a save has begun another")
	}
	send(t, s, pushOf(s, wire.Header{Seq: 3, Acked: 3}), wire.StatusOK)
	if w := weight(t, s); w != -3 {
		t.Errorf("weight %g after three pushes, want -3", w)
	}
}

// TestASaveThatWasGivenUp sends its messages late.
func TestASaveThatWasGivenUp(t *testing.T) {
	s := newServer(t, strategy.Async())
	msg := wire.Save{Dir: t.TempDir(), ID: "a", Abandon: true}
	send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpCommit, Life: 1}, msg), wire.StatusOK)
	msg.Abandon = false
	send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpFreeze, Life: 1}, msg), wire.StatusStale)
	if s.st.cut.Holder() != "" {
		t.Error("a save that was given up holds pushes")
	}
}

// TestStrangersWriteNothing has those who are no workers of the job ask for files.
func TestStrangersWriteNothing(t *testing.T) {
	s := newServer(t, strategy.Async())
	dir := t.TempDir()
	msg := wire.Save{Dir: dir, ID: "a", Steps: []uint64{0}, Parts: []wire.Part{{File: "part-a-000-of-001.safetensors"}}}
	for _, op := range []wire.Op{wire.OpFreeze, wire.OpKeep, wire.OpSave, wire.OpPart, wire.OpCommit} {
		for name, c := range map[string]struct {
			h    wire.Header
			want uint8
		}{
			"another job":         {wire.Header{Life: 1, Job: 1}, wire.StatusBack},
			"no worker":           {wire.Header{Life: 1, Worker: 9}, wire.StatusRefused},
			"an earlier life":     {wire.Header{Life: 0}, wire.StatusStale},
			"one that never came": {wire.Header{Life: 2}, wire.StatusNotReady},
		} {
			t.Run(op.String()+" of "+name, func(t *testing.T) {
				h := c.h
				h.Op = op
				send(t, s, saveFrame(t, s, h, msg), c.want)
			})
		}
	}
	for _, op := range []wire.Op{wire.OpSave, wire.OpPart, wire.OpCommit} {
		send(t, s, saveFrame(t, s, wire.Header{Op: op, Life: 1}, msg), wire.StatusStale)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%d files were written, error %v", len(files), err)
	}
}

// TestFilesOfASaveThatWasGivenUp: the part of a save that nobody will commit is removed, also one that is written
// later; that of a checkpoint stays, whatever its worker has heard of it.
func TestFilesOfASaveThatWasGivenUp(t *testing.T) {
	freeze, save, commit := wire.Header{Op: wire.OpFreeze, Life: 1}, wire.Header{Op: wire.OpSave, Life: 1}, wire.Header{Op: wire.OpCommit, Life: 1}
	for name, c := range map[string]struct {
		committed, elsewhere bool
		files                int
	}{
		"given up":              {false, false, 0},
		"committed":             {true, false, 2},
		"committed by server 0": {true, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, strategy.Async())
			msg := wire.Save{Dir: t.TempDir(), ID: "a"}
			send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
			msg.Steps = []uint64{0}
			send(t, s, saveFrame(t, s, save, msg), wire.StatusOK)
			if c.committed {
				msg.Parts = []wire.Part{partOf(t, s, msg.ID)}
				send(t, s, saveFrame(t, s, commit, msg), wire.StatusOK)
			}
			if c.elsewhere { // as a server other than 0 sees it
				s.st.cut = cut.New(cut.Options{First: true, Workers: 1, Servers: 1})
			}
			for _, discard := range []bool{false, true, true} {
				gone := wire.Save{Dir: msg.Dir, ID: msg.ID, Abandon: true, Discard: discard}
				send(t, s, saveFrame(t, s, commit, gone), wire.StatusOK)
			}
			s.saving.under.Wait()
			if files, err := os.ReadDir(msg.Dir); err != nil || len(files) != c.files {
				t.Errorf("%v are there, error %v; want %d files", files, err, c.files)
			}
			if !c.committed {
				send(t, s, saveFrame(t, s, save, msg), wire.StatusStale)
			}
		})
	}
	t.Run("late", func(t *testing.T) {
		s := newServer(t, strategy.Async())
		msg := wire.Save{Dir: t.TempDir(), ID: "a"}
		send(t, s, saveFrame(t, s, freeze, msg), wire.StatusOK)
		msg.Steps = []uint64{0}
		if first, err := s.saving.reach(&wire.Frame{Header: wire.Header{Life: 1}}, &msg); !first || err != nil {
			t.Fatalf("the cut is reached: %v, error %v", first, err)
		}
		send(t, s, saveFrame(t, s, commit, wire.Save{Dir: msg.Dir, ID: "a", Abandon: true, Discard: true}), wire.StatusOK)
		s.saving.take(&msg)
		s.saving.under.Wait()
		if files, err := os.ReadDir(msg.Dir); err != nil || len(files) != 0 {
			t.Errorf("%v are there, error %v; want none", files, err)
		}
	})
}

// TestARestartedWorkerEndsItsSave: another process in a worker's place does not go on with its save, and pushes do.
func TestARestartedWorkerEndsItsSave(t *testing.T) {
	s := newServer(t, strategy.Async())
	msg := wire.Save{Dir: t.TempDir(), ID: "a"}
	send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpFreeze, Life: 1}, msg), wire.StatusOK)
	var hello wire.Builder
	hello.Reset(wire.Header{Op: wire.OpJoin})
	if err := hello.JSON(wire.Hello{Process: 2, Fingerprint: s.c.Fingerprint}); err != nil {
		t.Fatal(err)
	}
	send(t, s, &hello, wire.StatusNotReady)
	s.st.roster.End(0, "it was restarted")
	send(t, s, &hello, wire.StatusOK)
	send(t, s, pushOf(s, wire.Header{Seq: 1, Life: 2}), wire.StatusOK)
	if s.st.cut.Holder() != "" || s.st.cut.Open() != "" {
		t.Error("the save of a life that is over goes on")
	}
	send(t, s, saveFrame(t, s, wire.Header{Op: wire.OpFreeze, Life: 2}, msg), wire.StatusStale)
}
