package server

import (
	"encoding/json"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestMachinesComeBack: what the base of a journal has of a server beside its tables is there again in the server that comes back, field by
// field. A new field has nothing here, and fails.
func TestMachinesComeBack(t *testing.T) {
	r := roster.New(roster.Options{Workers: 1, Timeout: time.Minute, Heartbeat: time.Second})
	life, err := r.Life(0, 0, time.Unix(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Begin(0, life, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	was := &machines{
		Published: true,
		Origin:    "ckpt-3 of today",
		Told:      "/checkpoints",
		Progress:  wire.Progress{Epoch: 2, User: []byte("mine")},
		Mode:      mode.State{Open: 7, Workers: []mode.WorkerState{{Parked: true}}},
		Counts:    []mode.Round{5},
		Roster:    r.Save(),
		Stopping:  []uint32{life},
		Coming:    []rateRecord{{Round: 9, Factor: 0.5}},
		Factors:   []wire.RateFactor{{From: 4, By: 0.25}},
		Gathers:   []gatherRecord{{N: 12, Call: "AllReduce", Data: [][]byte{{1}}, Have: []bool{true}, Lives: []uint32{life}}},
		Silent:    11,
		Norms:     []wire.Norms{{Round: 6, Sums: gradient.AppendSquares(nil, sumsOf(1, 2))}},
		Period:    &cut.Period{How: wire.Shrink{Decay: 0.5}, Dir: "/days", Step: 4, Told: []int{0}, ID: "a", Name: "period-1", Ended: 1},
		Ended:     []period{{Name: "period-1"}},

		Generation: "base-2",
	}
	fields := reflect.ValueOf(*was)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			t.Errorf("%s has nothing to lose here", fields.Type().Field(i).Name)
		}
	}
	text, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	var read machines
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	s := clippingServer(t)
	s.st.lock.Lock()
	defer s.st.lock.Unlock()
	s.st.published = false
	if err := s.returning.resume(&read); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(s.returning.machines())
	if err != nil {
		t.Fatal(err)
	}
	var then, now map[string]any
	if err := json.Unmarshal(text, &then); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(again, &now); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(then, now); diff != "" {
		t.Errorf("what comes back differs (-was +is):\n%s", diff)
	}
}

// TestWhatServersDecideIsPlayed: a server that comes back by its journal knows that a worker was fenced off, which nobody has dropped yet,
// and the sums of a round's gradient that all servers had sent.
func TestWhatServersDecideIsPlayed(t *testing.T) {
	j := job{strategy: strategy.Sync(), workers: 2, rule: optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 1}, Norm: 1},
		endpoints: []string{"server-0:1", "server-1:1"}}
	j.strategy.Recovery = strategy.Recovery{Dir: t.TempDir(), Journal: strategy.JournalProcess, JournalDir: t.TempDir()}
	s := j.server(t)
	if returned, err := s.returning.comeBack(t.Context()); returned || err != nil {
		t.Fatal(returned, err)
	}
	machines := func(s *Server) string {
		s.st.lock.Lock()
		defer s.st.lock.Unlock()
		text, err := json.Marshal(s.returning.machines())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := machines(s)
	s.st.lock.Lock()
	err := s.returning.segment(s.returning.base(s.returning.from, s.returning.machines()))
	s.st.lock.Unlock()
	if err != nil {
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
	want := machines(s)
	if want == before {
		t.Fatal("nothing was decided")
	}
	s.returning.journal.journal.Close()
	again := j.server(t)
	if returned, err := again.returning.comeBack(t.Context()); !returned || err != nil {
		t.Fatal(returned, err)
	}
	if diff := cmp.Diff(want, machines(again)); diff != "" {
		t.Errorf("what comes back differs (-was +is):\n%s", diff)
	}
}
