package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestJournalsAsTheStrategySays: a strategy without a journal has a server that does not come back; only one of the machine waits
// for the disk.
func TestJournalsAsTheStrategySays(t *testing.T) {
	for survives, want := range map[strategy.Journal][2]bool{"": {}, strategy.JournalProcess: {true, false}, strategy.JournalMachine: {true, true}} {
		j := NewJournal(nil, 2, survives, slog.Default())
		if j.Asked != want[0] || j.Durably != want[1] || j.ComesBack() != want[0] || j.index != 2 {
			t.Errorf("%q: asked %t, durably %t, comes back %t", survives, j.Asked, j.Durably, j.ComesBack())
		}
		if j.On() {
			t.Errorf("%q: it is on before it is open", survives)
		}
		j.Journal = new(journal.Journal)
		if !j.On() {
			t.Errorf("%q: it is open, and off", survives)
		}
		if j.Playing = true; j.On() {
			t.Errorf("%q: it records what it plays", survives)
		}
	}
	var none *Journal
	if none.On() || none.ComesBack() || none.Durable() != nil {
		t.Error("no journal is on, comes back, or fails")
	}
}

// TestLostJournals end the job, which goes back.
func TestLostJournals(t *testing.T) {
	st := newJob(t, new(bytes.Buffer), nil)
	j := NewJournal(st, 3, strategy.JournalProcess, slog.Default())
	if err := j.Lost(nil); err != nil {
		t.Errorf("no error is %v", err)
	}
	if j.Failed(nil); st.Failure != nil {
		t.Errorf("no error has ended the job: %v", st.Failure)
	}
	j.Failed(errors.New("disk full"))
	if !errors.Is(st.Failure, wire.ErrWentBack) || !strings.Contains(st.Failure.Error(), "server 3: disk full") {
		t.Errorf("it ended with %v", st.Failure)
	}
}

// TestDecisionsThatAreNotNoted end the job: no process could make them again.
func TestDecisionsThatAreNotNoted(t *testing.T) {
	st := newJob(t, new(bytes.Buffer), nil)
	j := NewJournal(st, 0, strategy.JournalProcess, slog.Default())
	e := AddEvent(NewMemory(j), "odd", func(func()) {})
	if e.Note(func() {}); st.Failure != nil {
		t.Errorf("it is not on, and has failed: %v", st.Failure)
	}
	j.Journal = new(journal.Journal)
	if e.Note(func() {}); !errors.Is(st.Failure, wire.ErrWentBack) {
		t.Errorf("what has no JSON was noted: %v", st.Failure)
	}
}

// TestRecordsThatAreNotNoted end the job as well, where a journal is on: a server that came back would lack them.
func TestRecordsThatAreNotNoted(t *testing.T) {
	st := newJob(t, new(bytes.Buffer), nil)
	j := NewJournal(st, 0, strategy.JournalProcess, slog.Default())
	r := AddRecord(NewMemory(j), KindFrozen, nil)
	fill := func(b *wire.Builder) { b.Dense([]float32{1}) }
	if r.Note(fill); st.Failure != nil {
		t.Errorf("it is not on, and has failed: %v", st.Failure)
	}
	var err error
	if j.Journal, err = journal.Open(journal.Options{Dir: t.TempDir(), Name: "j"}); err != nil {
		t.Fatal(err)
	}
	if err := j.Journal.Next(nil); err != nil {
		t.Fatal(err)
	}
	before := j.Journal.Size()
	if r.Note(fill); st.Failure != nil || j.Journal.Size() <= before {
		t.Errorf("it is noted in %d bytes behind %d, and the job: %v", j.Journal.Size(), before, st.Failure)
	}
	before = j.Journal.Size()
	r.Note(func(b *wire.Builder) { b.Dense(make([]float32, 1000)) })
	if grown := j.Journal.Size() - before; grown < 4000 {
		t.Errorf("1000 values are noted in %d bytes", grown)
	}
	j.Journal.Close()
	if r.Note(fill); !errors.Is(st.Failure, wire.ErrWentBack) {
		t.Errorf("the journal is closed, and the job goes on: %v", st.Failure)
	}
}

// TestEmptyFactsAreNotWritten: facts that are nothing are not written, and are resumed as nothing.
func TestEmptyFactsAreNotWritten(t *testing.T) {
	m := NewMemory(NewJournal(nil, 0, "", nil))
	number, list, all := 7, []int{1, 2}, []int{3, 4}
	AddValue(m, "number", &number)
	AddValue(m, "list", &list)
	AddList(m, "all", all)
	saved, err := m.Save()
	if err != nil || len(saved) != 3 || string(saved["number"]) != "7" || string(saved["all"]) != "[3,4]" {
		t.Fatalf("%s, %v", saved, err)
	}
	number, list = 0, []int{}
	empty, err := m.Save()
	if err != nil || len(empty) != 1 || empty["all"] == nil {
		t.Errorf("zeros: %s, %v", empty, err)
	}
	all[0] = 9
	if err := m.Resume(saved); err != nil || number != 7 || !slices.Equal(list, []int{1, 2}) || all[0] != 3 {
		t.Errorf("resumed %d, %v, %v: %v", number, list, all, err)
	}
	if err := m.Resume(nil); err != nil || number != 0 || list != nil {
		t.Errorf("resumed nothing: %d, %v: %v", number, list, err)
	}
	if err := m.Resume(map[string]json.RawMessage{"odd": nil}); err == nil || !strings.Contains(err.Error(), `"odd"`) {
		t.Errorf("a fact of which nothing is known: %v", err)
	}
	if err := m.Resume(map[string]json.RawMessage{"number": []byte(`"x"`)}); err == nil || !strings.Contains(err.Error(), `"number"`) {
		t.Errorf("a fact that is none: %v", err)
	}
}

// TestFactsThatDontFit: an error of what saves or resumes one names it.
func TestFactsThatDontFit(t *testing.T) {
	m := NewMemory(nil)
	TryFact(m, "narrow", func() func() { return func() {} }, func(func()) error { return nil })
	if _, err := m.Save(); err == nil || !strings.Contains(err.Error(), `"narrow"`) {
		t.Errorf("saved: %v", err)
	}
	m = NewMemory(nil)
	TryFact(m, "full", func() int { return 1 }, func(int) error { return errors.New("no room") })
	if err := m.Resume(nil); err == nil || !strings.Contains(err.Error(), `"full": no room`) {
		t.Errorf("resumed: %v", err)
	}
}

// TestDecisionsAreMadeAgain by the key or the kind under which they were recorded.
func TestDecisionsAreMadeAgain(t *testing.T) {
	m := NewMemory(nil)
	var made []int
	AddEvent(m, "one", func(v int) { made = append(made, v) })
	TryEvent(m, "two", func(_ context.Context, v int) error { return errors.New("not again") })
	play := func(kind journal.Kind, body string) error { return m.Play(t.Context(), kind, []byte(body)) }
	if err := play(KindEvent, `{"one":5}`); err != nil || !slices.Equal(made, []int{5}) {
		t.Errorf("%v, %v", made, err)
	}
	for _, c := range []struct {
		kind journal.Kind
		body string
		says string
	}{
		{KindEvent, `{"two":5}`, "not again"},
		{KindEvent, `{"three":5}`, "a record of kind 1, of which nothing is known"},
		{KindEvent, `{`, "unexpected end"},
		{KindEvent, `{"one":"x"}`, "cannot unmarshal"},
		{KindFrozen, ``, "a record of kind 4"},
	} {
		if err := play(c.kind, c.body); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d %s: %v", c.kind, c.body, err)
		}
	}
	AddRecord(m, KindFrozen, func(*wire.Frame) error { made = append(made, 6); return nil })
	if err := play(KindFrozen, "no frame"); err == nil || len(made) != 1 {
		t.Errorf("what is no frame: %v, %v", err, made)
	}
	var b wire.Builder
	b.Reset(wire.Header{Op: wire.OpStep})
	if err := play(KindFrozen, string(slices.Concat(b.Parts()...))); err != nil || len(made) != 2 {
		t.Errorf("a frame: %v, %v", err, made)
	}
}

// TestFrozenBlocksAreServer0s: another server has none.
func TestFrozenBlocksAreServer0s(t *testing.T) {
	l := &layout.Layout{Parts: make([]layout.Part, 2)}
	l.Frozen.Floats, l.Frozen.Blocks = 3, make([]layout.Block, 1)
	for index, want := range []int{3, 0} {
		p := &Part{Index: index, Layout: l}
		if p.FrozenFloats() != want || len(p.Frozen()) != min(want, 1) {
			t.Errorf("server %d: %d floats, %d blocks", index, p.FrozenFloats(), len(p.Frozen()))
		}
	}
}

// TestEarlierLivesAreRefused: an earlier process of a server, and this one where a later has its place.
func TestEarlierLivesAreRefused(t *testing.T) {
	l := newLives(3)
	l.Begin(2)
	for _, c := range []struct {
		h       wire.Header
		servers bool
		want    error
	}{
		{wire.Header{Worker: 1, Life: 4, ServerLife: 2}, true, nil},
		{wire.Header{Worker: 1, Life: 3, ServerLife: 1}, true, wire.ErrReplaced},
		{wire.Header{Worker: 1, Life: 3}, false, nil}, // a worker's
		{wire.Header{Worker: 0, Life: 9}, true, nil},  // its own
		{wire.Header{Worker: 0, Life: 1}, true, nil},
		{wire.Header{Worker: 3, Life: 1}, true, nil}, // of no server
	} {
		if err := l.Admit(&c.h, 0, c.servers); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.h, err, c.want)
		}
	}
	if l.Own() != 2 || l.Of(1) != &l.of[1] {
		t.Errorf("own life %d", l.Own())
	}
	for range 2 { // also what knows of no later life, from then on
		if err := l.Admit(&wire.Header{ServerLife: 3}, 0, true); !errors.Is(err, wire.ErrNotReady) {
			t.Errorf("a later life: %v", err)
		}
		if err := l.Admit(&wire.Header{ServerLife: 2}, 0, true); !errors.Is(err, wire.ErrNotReady) {
			t.Errorf("when it is replaced: %v", err)
		}
	}
	select {
	case <-l.Replaced:
	default:
		t.Error("it is replaced, and nothing says so")
	}
}

// TestAJournalThatStays: where its files can't be removed a person is told, and the server ends as it would.
func TestAJournalThatStays(t *testing.T) {
	dir, said := t.TempDir(), new(bytes.Buffer)
	j := NewJournal(newJob(t, new(bytes.Buffer), nil), 0, strategy.JournalProcess, slog.New(slog.NewTextHandler(said, nil)))
	j.Void() // there is none
	var err error
	if j.Journal, err = journal.Open(journal.Options{Dir: dir, Name: "j"}); err == nil {
		err = j.Journal.Next(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer j.Journal.Close()
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, name := range all {
		if err == nil && !strings.HasSuffix(name, "lock") {
			err = errors.Join(os.Remove(name), os.MkdirAll(filepath.Join(name, "full"), 0o700))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if j.Void(); !strings.Contains(said.String(), "could not be removed") {
		t.Errorf("the log has %q", said)
	}
}
