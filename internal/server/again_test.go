package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/checkpoint"
	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/server/state"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// journaled is a server of a job whose strategy has a journal, joined by worker 0, as it begins or comes back.
func (j job) journaled(t *testing.T) (s *Server, returned bool) {
	t.Helper()
	s = j.empty(t)
	returned, err := s.Return(t.Context())
	if err == nil {
		err = s.segments.begun()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Release)
	if !returned {
		s.begin(t)
	}
	return s, returned
}

// withJournal is a job of one worker, in a mode without rounds, with a journal of its own.
func withJournal(t *testing.T) job {
	choice := strategy.Async()
	choice.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	return job{strategy: choice}
}

// TestAProcessAfterAnother: each process that comes back to a journal begins the server's next life, by which requests
// for the one before are refused, and numbers weights behind all that the one before has numbered: a worker that has
// weights of such a number has no others.
func TestAProcessAfterAnother(t *testing.T) {
	j := withJournal(t)
	life, version := uint32(0), uint64(0)
	for n := range 3 {
		s, returned := j.journaled(t)
		if returned != (n > 0) {
			t.Fatalf("process %d has come back: %t", n, returned)
		}
		if is := s.st.Lives.Own(); is <= life && returned {
			t.Errorf("process %d is of life %d, the one before of %d", n, is, life)
		}
		if is := s.part.Updates.Version(); is <= version {
			t.Errorf("process %d has weights %d, the one before had %d", n, is, version)
		}
		if len(s.journal.Journal.Segments()) == 0 {
			t.Errorf("process %d has no segment to write to", n)
		}
		send(t, s, pushOf(s, wire.Header{Seq: uint64(n) + 1}), wire.StatusOK)
		if w := weight(t, s); w != -float32(n)-1 {
			t.Errorf("process %d has weight %v", n, w)
		}
		life, version = s.st.Lives.Own(), s.part.Updates.Version()
		s.Release()
	}
}

// TestAReturnIsLogged with how much was played, for a person who asks what the process before had.
func TestAReturnIsLogged(t *testing.T) {
	j := withJournal(t)
	first, _ := j.journaled(t)
	send(t, first, pushOf(first, wire.Header{Seq: 1}), wire.StatusOK)
	first.Release()
	var said bytes.Buffer
	s := j.empty(t)
	s.returning.log = slog.New(slog.NewTextHandler(&said, nil))
	if returned, err := s.Return(t.Context()); !returned || err != nil {
		t.Fatal(returned, err)
	}
	defer s.Release()
	if text := said.String(); !strings.Contains(text, "updates=1") || !strings.Contains(text, "records=") {
		t.Errorf("the log has %q", text)
	}
}

// TestASegmentIsBegunOnce: a server that begins opens a segment of its journal with where its tables are from, and one
// that has come back goes on in the one that there is.
func TestASegmentIsBegunOnce(t *testing.T) {
	j := withJournal(t)
	for n := range 2 {
		s, _ := j.journaled(t)
		all := s.journal.Journal.Segments()
		if len(all) == 0 || string(all[0].Head) == "" {
			t.Fatalf("process %d has segments %v", n, all)
		}
		if err := s.segments.begun(); err != nil || len(s.journal.Journal.Segments()) != len(all) {
			t.Errorf("process %d begins another segment, %v", n, err)
		}
		s.Release()
	}
}

// TestAJournalThatIsFull: a server whose journal takes no segment does not begin, and says which it is.
func TestAJournalThatIsFull(t *testing.T) {
	s := withJournal(t).empty(t)
	if _, err := s.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Release() // its file is closed
	if err := s.segments.begun(); err == nil || !strings.Contains(err.Error(), "server 0") {
		t.Errorf("it begins: %v", err)
	}
}

// TestWhatLiesBeforeACheckpointIsForgotten: of the journal's segments those before the last whole checkpoint go, and none
// goes for a checkpoint that is not whole, or is another in that directory's place.
func TestWhatLiesBeforeACheckpointIsForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		id    string
		whole bool
		left  int
	}{"whole": {"seven", true, 1}, "not whole": {"seven", false, 2}, "another": {"eight", true, 2}} {
		t.Run(name, func(t *testing.T) {
			s, _ := withJournal(t).journaled(t)
			dir := t.TempDir()
			if c.whole {
				commits(t, s, dir, "seven")
			}
			if err := s.segments.open(s.segments.base(source{Dir: dir, ID: c.id}, s.facts(t))); err != nil {
				t.Fatal(err)
			}
			s.segments.forget()
			if all := s.journal.Journal.Segments(); len(all) != c.left {
				t.Errorf("%d segments are left, want %d", len(all), c.left)
			}
			number, _, err := s.segments.newest()
			if c.left == 1 && (err != nil || number != 2) || c.left == 2 && (err != nil || number != 1) {
				t.Errorf("a process would begin from segment %d, %v", number, err)
			}
		})
	}
}

// commits makes a checkpoint of a server's tables, whole, in a directory.
func commits(t *testing.T, s *Server, dir, id string) {
	t.Helper()
	image := checkpoint.ImageOf(s.part.Store)
	defer image.Close()
	part, err := checkpoint.WriteImage(t.Context(), dir, checkpoint.PartName(id, 0, 1), image)
	if err == nil {
		m := checkpoint.Manifest{ID: id, Rule: s.c.Rule.Name(), Step: s.part.Store.Step(), Progress: &checkpoint.Progress{Epoch: 3},
			Params: checkpoint.Params(s.c.Layout.Params), Parts: []checkpoint.Part{part}}
		err = checkpoint.Commit(dir, m)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestWhereWorkersGoOn: with as many workers as the checkpoint has, each goes on where it was; with another number all
// begin their shares anew, count on from the most steps of any, and server 0 says so to them.
func TestWhereWorkersGoOn(t *testing.T) {
	at := [][]progress.Position{{{Threads: 1, Epoch: 2, Samples: 5, Steps: 9}}, {{Threads: 1, Epoch: 2, Samples: 4, Steps: 7}}}
	for name, c := range map[string]struct {
		saved   [][]progress.Position
		index   int
		resumes bool
		steps   uint64
		shares  int
	}{
		"as many":                  {at, 0, true, 0, 0},
		"fewer":                    {at[:1], 0, false, 9, 1},
		"fewer, on another server": {at[:1], 1, false, 9, 0},
		"as many there":            {at, 1, true, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := job{strategy: strategy.Async(), workers: 2}.empty(t)
			s.recovery.index = c.index
			s.recovery.goOn("ckpt", &checkpoint.Manifest{Progress: new(checkpoint.Progress), Positions: c.saved})
			for w := range 2 {
				if got := s.st.Roster.Positions(w); (len(got) == 1 && got[0] == at[w][0]) != c.resumes {
					t.Errorf("worker %d goes on at %+v", w, got)
				}
			}
			if s.recovery.steps != c.steps || s.recovery.shares != c.shares {
				t.Errorf("steps %d of %d workers, want %d of %d", s.recovery.steps, s.recovery.shares, c.steps, c.shares)
			}
		})
	}
}

// TestOnlyALastSaveIsRemembered: a worker that saves and goes on saves the next time too, and its question is in no
// record; one that saves a last time is recorded once.
func TestOnlyALastSaveIsRemembered(t *testing.T) {
	s, _ := withJournal(t).journaled(t)
	for _, c := range []struct {
		last    bool
		records int
	}{{false, 0}, {false, 0}, {true, 1}, {true, 1}} {
		send(t, s, message(t, wire.Header{Op: wire.OpSaver, Life: 1}, wire.Saver{Last: c.last}), wire.StatusOK)
		kinds := map[string]int{}
		kindsOf(t, s.journal.Journal, kinds)
		if is := s.recovery.savers.Leaving()[0] == 1; kinds["stopping"] != c.records || is != (c.records > 0) {
			t.Errorf("last %t: %d records, and it saves a last time: %t", c.last, kinds["stopping"], is)
		}
	}
}

// TestWhatIsUnsavedAtTheEnd: a late worker that is asked to end, with no other that would save for it, saves unless the
// last whole checkpoint has everything.
func TestWhatIsUnsavedAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		before func(*Server)
		saves  bool
	}{
		"nothing is unsaved":         {func(s *Server) { s.recovery.last.wholeAt = s.part.Updates.Version() }, false},
		"an update since":            {func(s *Server) { s.recovery.last.wholeAt = s.part.Updates.Version(); s.part.Updates.Changed() }, true},
		"an update is under way":     {func(s *Server) { s.recovery.last.wholeAt = s.part.Updates.Version(); s.st.Applying = 1 }, true},
		"there is no checkpoint yet": {func(*Server) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, strategy.Async())
			c.before(s)
			var msg wire.Saver
			s.st.Lock()
			s.recovery.endsLate(&msg, 0)
			s.st.Unlock()
			if msg.Yours != c.saves || msg.Late == c.saves || msg.Wait {
				t.Errorf("the answer is %+v", msg)
			}
		})
	}
}

// TestAReturnThatIsBrokenOff leaves the journal to the next process; one that can't be made removes it, and says so.
func TestAReturnThatIsBrokenOff(t *testing.T) {
	j := withJournal(t)
	first, _ := j.journaled(t)
	send(t, first, pushOf(first, wire.Header{Seq: 1}), wire.StatusOK)
	first.Release()
	why := errors.New("it was asked to end")
	ctx, end := context.WithCancelCause(t.Context())
	end(why)
	if returned, err := j.empty(t).Return(ctx); returned || !errors.Is(err, why) || errors.Is(err, ErrNoReturn) {
		t.Errorf("it has come back (%t), %v", returned, err)
	}
	if s, returned := j.journaled(t); !returned || weight(t, s) != -1 {
		t.Error("the next has nothing to come back to")
	} else {
		s.Release()
	}
	other := j
	other.workers = 2
	if returned, err := other.empty(t).Return(t.Context()); returned || !errors.Is(err, ErrNoReturn) {
		t.Errorf("a server of another job has come back (%t), %v", returned, err)
	}
	if _, returned := j.journaled(t); returned {
		t.Error("the journal of a state that can't be come back to is there still")
	}
}

// TestAJournalOfAnotherVersion: a server refuses it with both versions, and leaves its files as they are.
//
// Promise: [G6] a journal of another version is refused with both versions, and stays as it is
func TestAJournalOfAnotherVersion(t *testing.T) {
	j := withJournal(t)
	first, _ := j.journaled(t)
	send(t, first, pushOf(first, wire.Header{Seq: 1}), wire.StatusOK)
	first.Release()
	files, err := filepath.Glob(filepath.Join(j.strategy.Recovery.JournalDir, "server-*.0*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[3] = '1' // with its checksum
	binary.LittleEndian.PutUint32(text[24:], crc32.Checksum(text[:24], crc32.MakeTable(crc32.Castagnoli)))
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	returned, err := j.empty(t).Return(t.Context())
	if returned || err == nil || errors.Is(err, ErrNoReturn) || !strings.Contains(err.Error(), "stays, and can't be used") ||
		!strings.Contains(err.Error(), "format version 1, this build reads version 4") {
		t.Errorf("it has come back (%t), %v", returned, err)
	}
	if now, err := os.ReadFile(files[0]); err != nil || !bytes.Equal(now, text) {
		t.Errorf("the journal has changed: %d bytes, were %d, %v", len(now), len(text), err)
	}
}

// kindsOf counts the records of a journal, and its bases.
func kindsOf(t *testing.T, j *journal.Journal, kinds map[string]int) {
	t.Helper()
	segments := j.Segments()
	for _, seg := range segments {
		if seg.Continues {
			continue
		}
		var b base
		if err := json.Unmarshal(seg.Head, &b); err != nil {
			t.Fatal(err)
		}
		switch {
		case b.From.ID != "" && b.State != nil:
			kinds["a base of a checkpoint"]++
		case b.From.Dir == "" && b.State == nil:
			kinds["a base of nothing"]++
		}
	}
	err := j.Play(segments[0].Number, func(kind journal.Kind, body []byte) error {
		kinds[fmt.Sprint("kind ", kind)]++
		if kind != state.KindEvent {
			return new(wire.Frame).Parse(body)
		}
		var e map[string]any
		err := json.Unmarshal(body, &e)
		for what := range maps.Keys(e) {
			kinds[what]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
