package server

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/server/state"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/journal"
	"github.com/gofleet/gofleet/internal/layout"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// Journals that earlier builds have written are in archives of package fleet, whose test formats_test.go wrote them,
// with all weights that the workers saw at their ends. What servers were beside their tables is in testdata of this
// package, and is written once too:
//
//	go test ./internal/server -run TestFormatsOfJournals -write-machines
var writeMachines = flag.Bool("write-machines", false,
	"TestFormatsOfJournals writes down what servers are that come back by a journal of which that is not known")

// journalsJob is journal.json of an archive: the job that has written journals.
type journalsJob struct {
	Mode        strategy.Mode
	Dir         string
	Servers     int
	Workers     int
	Strategy    strategy.Strategy
	Fingerprint []string
	Values      map[string]map[string]map[uint64][]float32 // by moment, param and row; a dense param is one row
}

// model is formatsJournalJob of package fleet.
func (j *journalsJob) model() ([]*optimizer.Param, optimizer.Rule) {
	first := optimizer.Uniform{Low: -1, High: 1}
	table := func(name string, height, dim int, e optimizer.Entry) *optimizer.Param {
		if j.Mode == strategy.ModeGeo {
			e = optimizer.Entry{}
		}
		return &optimizer.Param{Name: name, Shape: []int{height, dim}, Embedding: true, Init: first, Seed: 3, Entry: e}
	}
	params := []*optimizer.Param{
		{Name: "w", Shape: []int{5, 3}, Init: first, Seed: 3, W: make([]float32, 15), G: make([]float32, 15)},
		{Name: "mean", Shape: []int{3}, Init: first, Seed: 3, W: make([]float32, 3), Frozen: true},
		table("plain", 0, 3, optimizer.Entry{}), table("high", 20, 2, optimizer.Entry{}),
		table("counted", 0, 2, optimizer.Entry{CountFilter: 2}),
		table("shown", 0, 2, optimizer.Entry{ShowClick: optimizer.ShowClick{Threshold: 0.3}})}
	rule := optimizer.Rule(optimizer.PerParam{Rule: optimizer.Adam{LR: 0.05}, By: map[string]optimizer.Rule{
		"plain": optimizer.Adagrad{LR: 0.1}, "high": optimizer.Momentum{LR: 0.05},
		"shown": optimizer.SparseSharedAdam{LR: 0.05}}})
	switch j.Mode {
	case strategy.ModeGeo:
		rule = optimizer.SGD{LR: 0.1}
	case strategy.ModeSync:
		rule = optimizer.ClipByGlobalNorm{Rule: rule, Norm: 2}
	}
	return params, rule
}

// server is one that comes back by the journal in the directory of the strategy.
func (j *journalsJob) server(t *testing.T, index int) *Server {
	t.Helper()
	params, rule := j.model()
	where, err := j.Strategy.PlacementOptions()
	if err != nil {
		t.Fatal(err)
	}
	l, err := layout.New(params, j.Servers, where)
	if err != nil {
		t.Fatal(err)
	}
	c := Config{Index: index, Workers: j.Workers, Layout: l, Rule: rule, Strategy: j.Strategy, Before: j.Fingerprint,
		Fingerprint: l.Fingerprint(rule), Transport: transport.NewMemory(), Logger: slog.New(slog.NewTextHandler(io.Discard, nil))}
	for i := range j.Servers {
		c.Endpoints = append(c.Endpoints, fmt.Sprintf("server-%d:1", i))
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if returned, err := s.Return(t.Context()); !returned || err != nil {
		t.Fatalf("server %d came back: %t, %v", index, returned, err)
	}
	t.Cleanup(s.Release)
	return s
}

// TestFormatsOfJournals has servers come back by the journals of every build since they are kept: to the weights that
// the workers saw, and to the machines that were written down. All kinds of records are in them.
func TestFormatsOfJournals(t *testing.T) {
	law.Slow(t)
	archives, err := filepath.Glob("../../fleet/testdata/formats-*.zip")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no formats in testdata (%v)", err)
	}
	for _, archive := range law.Some(t, archives) {
		t.Run(filepath.Base(archive), func(t *testing.T) { checkJournals(t, archive) })
	}
}

func checkJournals(t *testing.T, archive string) {
	known, err := filepath.Abs("testdata/" + strings.TrimSuffix(filepath.Base(archive), ".zip") + ".json.gz")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.OpenReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", z); err != nil {
		t.Fatal(err)
	}
	want, is, kinds := map[string]json.RawMessage{}, map[string]any{}, map[string]int{}
	err = readPacked(known, &want)
	if written := err == nil; written == *writeMachines {
		t.Fatalf("what servers were is written down once: %v", err)
	}
	jobs, err := filepath.Glob("journals/*/journal.json")
	if err != nil || len(jobs) == 0 {
		t.Fatalf("no journals (%v)", err)
	}
	for _, name := range jobs {
		var j journalsJob
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &j)
		}
		if err != nil {
			t.Fatal(err)
		}
		for moment := range j.Values {
			t.Run(string(j.Mode)+" "+moment, func(t *testing.T) { j.check(t, moment, want, is, kinds) })
		}
	}
	every(t, kinds, filepath.Base(archive))
	if *writeMachines {
		if err := writePacked(known, is); err != nil {
			t.Fatal(err)
		}
	}
}

func readPacked(name string, v any) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	return json.NewDecoder(z).Decode(v)
}

func writePacked(name string, v any) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	return errors.Join(json.NewEncoder(z).Encode(v), z.Close(), f.Close())
}

// every finds the kind of record that no journal has.
func every(t *testing.T, kinds map[string]int, archive string) {
	t.Helper()
	later := append(map[string][]string{"formats-493ea82.zip": {"cut", "end"}, "formats-cd8fd83.zip": {"cut", "end"}}[archive],
		"begun") // of this build
	names := []string{"a base of nothing", "a base of a checkpoint"}
	names = slices.AppendSeq(names, maps.Keys(newServer(t, strategy.Async()).segments.memory.Plays))
	for _, name := range names {
		if kinds[name] == 0 && !slices.Contains(later, name) {
			t.Errorf("no journal has %q; there are %v", name, kinds)
		}
	}
}

// check has all servers come back to a moment.
func (j *journalsJob) check(t *testing.T, moment string, want map[string]json.RawMessage, is map[string]any,
	kinds map[string]int) {
	for _, part := range []string{"journal", "own"} {
		at, from := filepath.Join("journals", string(j.Mode), part), filepath.Join("journals", string(j.Mode), moment, part)
		if err := os.RemoveAll(at); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(at, os.DirFS(from)); err != nil && part == "journal" {
			t.Fatal(err)
		}
	}
	if err := j.move(filepath.Join("journals", string(j.Mode), "journal")); err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[uint64][]float32{}
	for index := range j.Servers {
		s := j.server(t, index)
		s.collect(rows)
		kindsOf(t, s.segments.journal.Journal, kinds)
		s.writesAsBefore(t)
		text, err := s.describe(t)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("%s %s %d", j.Mode, moment, index)
		is[name] = json.RawMessage(text)
		var then, now map[string]any
		if err := json.Unmarshal(text, &now); err != nil {
			t.Fatal(err)
		}
		if *writeMachines {
			continue
		}
		if err := json.Unmarshal(want[name], &then); err != nil {
			t.Fatal(err)
		}
		facts, known := now["machines"].(map[string]any), factsOf(t, want)
		for _, key := range s.segments.memory.Old {
			delete(then["machines"].(map[string]any), key)
		}
		maps.DeleteFunc(facts, func(key string, _ any) bool { return !known[key] }) // of later builds
		if diff := cmp.Diff(then, now); diff != "" {
			t.Errorf("server %d is not what it was (-was +is):\n%s", index, diff)
		}
		s.Release()
	}
	if diff := cmp.Diff(j.Values[moment], rows); diff != "" {
		t.Errorf("weights are not what the workers saw (-was +is):\n%s", diff)
	}
}

// factsOf are the facts that some server of an archive had when it was written down.
func factsOf(t *testing.T, all map[string]json.RawMessage) map[string]bool {
	t.Helper()
	known := map[string]bool{}
	for _, text := range all {
		var is struct{ Machines map[string]any }
		if err := json.Unmarshal(text, &is); err != nil {
			t.Fatal(err)
		}
		for key := range is.Machines {
			known[key] = true
		}
	}
	return known
}

// move has the journals in a directory name checkpoints below the working directory, where they were below that of the
// job. A record is 32 bytes, of which bytes 16 to 23 are the size of its body, the last eight two sums, and the body.
func (j *journalsJob) move(dir string) error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	sums := crc32.MakeTable(crc32.Castagnoli)
	names, err := filepath.Glob(filepath.Join(dir, "server-*"))
	for _, name := range names {
		var to []byte
		from, e := os.ReadFile(name)
		for err = errors.Join(err, e); len(from) > 0; {
			head, body := slices.Clone(from[:32]), from[32:][:binary.LittleEndian.Uint64(from[16:])]
			from = from[32+len(body):]
			var begin map[string]any // what a segment begins from is within, as text
			if binary.LittleEndian.Uint32(head[4:]) == 0 && json.Unmarshal(body, &begin) == nil {
				inner, _ := base64.StdEncoding.DecodeString(begin["head"].(string))
				begin["head"] = bytes.ReplaceAll(inner, []byte(j.Dir), []byte(here))
				body, e = json.Marshal(begin)
				err = errors.Join(err, e)
			}
			body = bytes.ReplaceAll(body, []byte(j.Dir), []byte(here))
			binary.LittleEndian.PutUint64(head[16:], uint64(len(body)))
			binary.LittleEndian.PutUint32(head[24:], crc32.Checksum(head[:24], sums))
			binary.LittleEndian.PutUint32(head[28:], crc32.Checksum(body, sums))
			to = append(append(to, head...), body...)
		}
		err = errors.Join(err, os.WriteFile(name, to, 0o644))
	}
	return err
}

// describe is all that a server has come back to.
func (s *Server) describe(t *testing.T) ([]byte, error) {
	facts := s.facts(t)
	s.st.Lock()
	defer s.st.Unlock()
	store := s.part.Store
	image := store.Image(func(string) bool { return true })
	defer image.Close()
	all := map[string]any{"machines": facts, "process": s.servers.process,
		"processes": s.servers.processes, "generation": s.st.Generation(), "step": store.Step(), "factors": store.Factors(), "chain": image.Chain}
	for _, b := range store.Blocks {
		_, state, step := b.Values.Snapshot()
		all[fmt.Sprintf("%s from %d", b.Param.Name, b.Offset)] = map[string]any{"state": state, "step": step}
	}
	for _, t := range image.Tables {
		of := map[string]any{"clock": t.Clock, "waiting": slices.Concat(t.Table.Waiters()), "gone": t.Gone}
		for row := range t.Table.Rows(store.Step()) {
			row.State, row.W = slices.Clone(row.State), nil
			of[fmt.Sprint("row ", row.ID)] = row
		}
		all[t.Table.Param().Name] = of
	}
	text, err := json.Marshal(all)
	here, e := os.Getwd()
	return bytes.ReplaceAll(text, []byte(here), []byte("HERE")), errors.Join(err, e)
}

// collect adds a server's weights to all.
func (s *Server) collect(all map[string]map[uint64][]float32) {
	of := func(name string) map[uint64][]float32 {
		if all[name] == nil {
			all[name] = map[uint64][]float32{}
		}
		return all[name]
	}
	for _, b := range s.part.Store.Blocks {
		w, _, _ := b.Values.Snapshot()
		v := of(b.Param.Name)
		if v[0] == nil {
			v[0] = make([]float32, b.Param.Size())
		}
		copy(v[0][b.Offset:], w)
	}
	for _, t := range s.part.Store.Tables {
		v := of(t.Param().Name)
		for row := range t.Rows(s.part.Store.Step()) {
			v[row.ID] = slices.Clone(row.W)
		}
	}
}

// writesAsBefore has another server note all events that are in the journal of this one: it writes them byte by byte as
// they are there.
func (s *Server) writesAsBefore(t *testing.T) {
	t.Helper()
	j := job{strategy: strategy.Async()}
	j.strategy.Recovery = strategy.Recovery{Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	w := j.empty(t)
	if _, err := w.Return(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	if err := w.segments.begun(); err != nil {
		t.Fatal(err)
	}
	members, rounds := w.deaths.membership, w.rounds
	notes := map[string]func(json.RawMessage) error{
		"generation": noteOf(w.servers.generations), "server": noteOf(w.servers.admits), "life": noteOf(members.lives),
		"begin": noteOf(members.begins), "left": noteOf(members.leaves), "ends": noteOf(members.ends), "park": noteOf(rounds.parks),
		"rate": noteOf(rounds.rates.chosen), "norms": noteOf(w.clipping.summed), "fence": noteOf(w.deaths.fences),
		"drop": noteOf(w.deaths.drops), "stopping": noteOf(w.recovery.stops), "made": noteOf(w.recovery.made),
		"gathered": noteOf(members.gathering.ended),
		"shrink":   noteOf(state.AddEvent(w.segments.memory, "shrink", func(json.RawMessage) {})),
		"period":   noteOf(state.AddEvent(w.segments.memory, "period", func(json.RawMessage) {})),
		"load":     noteOf(w.reloading.loads), "cut": noteOf(w.leading.records), "end": noteOf(w.holding.ends),
	}
	before := eventsOf(t, s.segments.journal.Journal)
	for _, body := range before {
		var e map[string]json.RawMessage
		err := json.Unmarshal([]byte(body), &e)
		for key, text := range e {
			if notes[key] == nil {
				t.Fatalf("nothing notes %q", key)
			}
			err = errors.Join(err, notes[key](text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, eventsOf(t, w.segments.journal.Journal)); diff != "" {
		t.Errorf("events are written otherwise (-was +is):\n%s", diff)
	}
}

// noteOf notes what is in a text.
func noteOf[T any](e state.Event[T]) func(json.RawMessage) error {
	return func(text json.RawMessage) error {
		var v T
		err := state.Parse(text, &v)
		if err == nil {
			e.Note(v)
		}
		return err
	}
}

// eventsOf are the events in a journal.
func eventsOf(t *testing.T, j *journal.Journal) (all []string) {
	t.Helper()
	err := j.Play(j.Segments()[0].Number, func(kind journal.Kind, body []byte) error {
		if kind == state.KindEvent {
			all = append(all, string(body))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
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
			return new(wire.Frame).ParseKept(body)
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
