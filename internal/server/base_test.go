package server

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gofleet/gofleet/internal/cut"
	"github.com/gofleet/gofleet/internal/gradient"
	"github.com/gofleet/gofleet/internal/mode"
	"github.com/gofleet/gofleet/internal/roster"
	"github.com/gofleet/gofleet/internal/wire"
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
