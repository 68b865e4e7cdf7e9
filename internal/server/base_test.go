package server

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/epoch"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/table"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestMachinesComeBack: each fact is there again in the server that comes back, field by field. A fact without a sample
// fails, and so does a field that its sample says nothing of.
//
// Promise: [G6] a server that comes back knows what the one before it knew: each fact is saved and resumed, and what
// follows from a decision follows when it is played
// Also: TestWhatIsPlayedIsLive
func TestMachinesComeBack(t *testing.T) {
	one := wire.Outcome{Applied: 3, Dropped: 1, On: 7, Again: true}
	at := []progress.Position{{Thread: 1, Threads: 2, Epoch: 3, Samples: 40, Steps: 5, Frozen: "\xffmeans"}}
	samples := map[string]any{
		"published": true,
		"origin":    "ckpt-3 of today",
		"told":      "/checkpoints",
		"progress":  wire.Progress{Epoch: 2, User: []byte("mine"), Meetings: 3},
		"begun":     []progress.Begun{{Epoch: 2, At: at, Early: true}, {Epoch: 1}, {}},
		"loaded":    []bool{true, false, true},
		"mode":      mode.State{Open: 7, Workers: []mode.WorkerState{{Parked: true}, {Gone: true}, {}}},
		"counts":    []mode.Round{5, 6, 7},
		"roster": roster.Saved{
			Members: []roster.SavedMember{{State: 1, Life: 2, Ends: "asked to", Acked: 3, Last: 9, Fenced: true, Returns: true, Late: true, Why: "silent",
				Requests: []roster.SavedRequest{{Seq: 4, Acked: 3, Outcome: one, Positions: at}},
				Through:  8, Positions: at, Lost: true, Accepted: 7}, {State: 1, Life: 1}, {State: 2, Life: 1}},
			Lives: []roster.SavedLife{{Number: 1}, {Worker: 1, Process: 8, Number: 1}, {Worker: 2, Process: 9, Number: 2}}},
		"stopping": []uint32{2, 3, 4},
		"coming":   []rateRecord{{Round: 9, Factor: 0.5}},
		"factors":  []table.Factor{{From: 4, By: 0.25}},
		"gathers": []gatherRecord{{N: 12, Call: "AllReduce", First: 1, Data: [][]byte{{1}, {2}, nil}, More: []int{1},
			Have: []bool{true, true, false}, Lives: []uint32{1, 2, 3}, Loads: map[int]wire.Loads{0: {Frozen: 1}, 1: {Frozen: 1, Steps: 2}}, Forgotten: true}},
		"led": []epoch.Record{
			{Made: &epoch.Made{Number: 5, Epoch: 2, End: true, By: []int{0, 2}, Shares: [][]byte{{1}, {2}}, Ended: 3, Counted: []int{3, 1, 3}}},
			{Ground: &epoch.Ground{Known: 4, Memory: []byte("hooks"), Ended: 3, Closed: 2, Middles: 1, Counted: []int{3, 1, 3}, Stop: "enough",
				Lives: []uint32{1, 2, 1}, First: 1}}},
		"silent":     uint64(11),
		"norms":      []wire.Norms{{Round: 6, Sums: gradient.AppendSquares(nil, sumsOf(1, 2))}},
		"generation": "base-2",
		"steps":      uint64(40),
		"loads":      wire.Loads{Frozen: 2, Whole: 1, Updates: 3, Counted: []progress.Position{{Thread: 1, Threads: 2, Epoch: 3, Samples: 4, Steps: 5, Frozen: "\xff"}}, Steps: 4},
		"remade":     uint64(6),
		"counted":    [][]progress.Position{{{Thread: 1, Threads: 2, Epoch: 3, Samples: 4, Steps: 5, Frozen: "\xff"}}, nil},
		"names":      []cut.Named{{Name: "end-3", Said: []byte(`{"rows":[1]}`)}},
		"cuts": []cut.Record{
			{Done: &cut.Done{Number: 3, Ask: cut.Ask{ID: "a", Worker: 1, Task: taskOf(cut.End), Sum: []byte("sum")}, Step: 4, At: []uint64{5, 6}, Said: [][]byte{{1}}, Told: []int{1}, Why: "given up"}},
			{Led: 4},
			{Deeds: progress.Deeds{{Name: "period 3", What: "Decay 0.5", Said: [][]byte{{1}}}}},
			{Intent: &cut.Done{Number: 4, Ask: cut.Ask{ID: "b", Task: taskOf(cut.End)}, Step: 5, At: []uint64{7}}},
		},
	}
	left := []string{ // and what is in them
		"mode.Workers.Pushes",                                                                              // sync has none, and package mode tests that those of ssp come back
		"coming.Worker", "coming.Life", "coming.Seq", "coming.Acked", "coming.Outcome", "coming.Positions", // of a request
		"coming.Factors", // of a job without rounds, where none is coming
		"norms.Server",   // all servers' sums have none
	}
	was := map[string]json.RawMessage{}
	for key, sample := range samples {
		for _, field := range empty(key, reflect.ValueOf(sample)) {
			if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(field, l) }) {
				t.Errorf("%s has nothing to lose here", field)
			}
		}
		text, err := json.Marshal(sample)
		if err != nil {
			t.Fatal(err)
		}
		was[key] = text
	}
	s := job{strategy: strategy.Sync(), workers: 3, rule: optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1},
		endpoints: []string{"server-0:1", "server-1:1", "server-2:1"}}.server(t)
	for _, f := range s.segments.memory.Facts {
		if samples[f.Key] == nil {
			t.Errorf("fact %q has no sample", f.Key)
		}
	}
	s.st.Published = false
	s.resume(t, was)
	if diff := cmp.Diff(unpacked(t, was), unpacked(t, s.facts(t))); diff != "" {
		t.Errorf("what comes back differs (-was +is):\n%s", diff)
	}
}

// empty are the fields of v that are zero, in a list those that are in all of its elements.
func empty(name string, v reflect.Value) (names []string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			of := name + "." + v.Type().Field(i).Name
			if v.Type().Field(i).Anonymous {
				of = name
			}
			names = append(names, empty(of, v.Field(i))...)
		}
	case reflect.Slice:
		for i := range v.Len() {
			of := empty(name, v.Index(i))
			if i == 0 {
				names = of
			}
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(of, n) })
		}
	}
	if v.IsZero() && len(names) == 0 {
		return []string{name}
	}
	return names
}

// facts are what a server would save.
func (s *Server) facts(t testing.TB) map[string]json.RawMessage {
	t.Helper()
	s.st.Lock()
	defer s.st.Unlock()
	all, err := s.segments.memory.Save()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// resume makes facts those of another server.
func (s *Server) resume(t testing.TB, all map[string]json.RawMessage) {
	t.Helper()
	s.st.Lock()
	defer s.st.Unlock()
	if err := s.segments.memory.Resume(all); err != nil {
		t.Fatal(err)
	}
}

// unpacked is what is in facts.
func unpacked(t testing.TB, all map[string]json.RawMessage) map[string]any {
	t.Helper()
	is := map[string]any{}
	for key, text := range all {
		var v any
		if err := json.Unmarshal(text, &v); err != nil {
			t.Fatal(err)
		}
		is[key] = v
	}
	return is
}

// TestWhatServersDecideIsPlayed: a server that comes back by its journal knows that a worker was fenced off, which
// nobody has dropped yet, and the sums of a round's gradient that all servers had sent.
func TestWhatServersDecideIsPlayed(t *testing.T) {
	j := job{strategy: strategy.Sync(), workers: 2, rule: optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1},
		endpoints: []string{"server-0:1", "server-1:1"}}
	j.strategy.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	s := j.server(t)
	if returned, err := s.returning.comeBack(t.Context()); returned || err != nil {
		t.Fatal(returned, err)
	}
	before := s.facts(t)
	if err := s.segments.open(s.segments.base(s.segments.from, before)); err != nil {
		t.Fatal(err)
	}
	s.deaths.fenceOff(wire.Leave{Worker: 0, Life: 1, Why: "silent"})
	var both sync.WaitGroup
	for server := range 2 {
		both.Go(func() {
			if _, err := s.clipping.gather(0, server, sumsOf(1, 2)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	want := unpacked(t, s.facts(t))
	if cmp.Equal(want, unpacked(t, before)) {
		t.Fatal("nothing was decided")
	}
	s.segments.journal.Close()
	again := j.server(t)
	if returned, err := again.returning.comeBack(t.Context()); !returned || err != nil {
		t.Fatal(returned, err)
	}
	if diff := cmp.Diff(want, unpacked(t, again.facts(t))); diff != "" {
		t.Errorf("what comes back differs (-was +is):\n%s", diff)
	}
}

// TestJournalOfAnEarlierRun: a server whose place a run of the job did without finds its journal of the run before. It begins anew
// where that run has made checkpoints, and comes back where its own has.
func TestJournalOfAnEarlierRun(t *testing.T) {
	for name, c := range map[string]struct {
		id    func(s *Server) string // of a checkpoint since the journal's base
		again bool                   // it comes back
	}{
		"none":                       {nil, true},
		"its own run's":              {func(s *Server) string { return cut.FileID(s.st.Generation().Number, 1) }, true},
		"another run's":              {func(s *Server) string { return cut.FileID(s.st.Generation().Number+1, 1) }, false},
		"of a run that begins alike": {func(s *Server) string { return "x" + cut.FileID(s.st.Generation().Number, 1) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := job{strategy: strategy.Async(), workers: 1}
			j.strategy.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
			s := j.server(t)
			if returned, err := s.returning.comeBack(t.Context()); returned || err != nil {
				t.Fatal(returned, err)
			}
			if err := s.segments.open(s.segments.base(s.segments.from, s.facts(t))); err != nil {
				t.Fatal(err)
			}
			if c.id != nil {
				commits(t, s, filepath.Join(j.strategy.Recovery.Dir, "ckpt-000001"), c.id(s))
			}
			s.segments.journal.Close()
			again := j.server(t)
			returned, err := again.returning.comeBack(t.Context())
			if returned != c.again || errors.Is(err, ErrNoReturn) == c.again {
				t.Errorf("it comes back: %t, %v", returned, err)
			}
		})
	}
}
