package roster

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// TestARosterComesBack: a roster that is saved and returned to, as text of a journal, knows of every worker what it knew.
func TestARosterComesBack(t *testing.T) {
	o := Options{Workers: 4, Timeout: time.Minute, Heartbeat: time.Second}
	r, now := New(o), time.Unix(1, 0)
	for w := range 3 {
		number, err := r.Lives.Number(w, uint64(70+w), now)
		if _, begin := r.Begin(w, number, now); err != nil || begin != nil {
			t.Fatal(err, begin)
		}
	}
	window := r.Window(0)
	for seq := uint64(1); seq <= 6; seq++ {
		q, _, err := window.Enter(seq, max(seq, 3)-2)
		if err != nil {
			t.Fatal(err)
		}
		q.Carry([]progress.Position{{Threads: 1, Epoch: 1, Samples: 10 * seq}})
		if seq == 4 {
			window.Accept(q)
			q.Refuse(wire.Refuse(wire.StatusRefused, "no"))
			continue
		}
		q.Apply(3, 1, seq)
		r.Applied(0, 1, seq)
	}
	r.Fence(1, 1, "silent")
	r.End(2, "it was closed", true)
	if m := &r.members[0].window; m.acked == 0 || m.last == 0 || m.through == 0 || !m.lost || m.accepted == 0 || len(m.at) == 0 || len(m.requests) == 0 {
		t.Fatalf("the window has nothing to lose: %+v", m)
	}
	saved := r.Save()
	text, err := json.Marshal(saved)
	if err != nil {
		t.Fatal(err)
	}
	var read Saved
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	again := New(o)
	again.Return(read, now)
	for w := range r.members {
		was, is := r.members[w], again.members[w]
		for seq, q := range was.window.requests { // what is not done, or was refused, comes again
			if !q.Done || q.Refusal != nil {
				delete(was.window.requests, seq)
			}
		}
		was.agrees, was.seen, is.seen, was.began, is.began = is.agrees, now, now, now, now
		if len(was.window.requests)+len(is.window.requests) == 0 {
			was.window.requests, is.window.requests = nil, nil
		}
		if known, knows := was.window.requests, is.window.requests; !reflect.DeepEqual(savedOf(known), savedOf(knows)) {
			t.Errorf("worker %d: requests %+v, want %+v", w, savedOf(knows), savedOf(known))
		}
		was.window.requests, is.window.requests = nil, nil
		if !reflect.DeepEqual(was, is) {
			t.Errorf("worker %d is %+v, want %+v", w, is, was)
		}
		for process := uint64(70); process < 73; process++ {
			if a, b := r.Lives.of(w, process, now).number, again.Lives.of(w, process, now).number; a != b {
				t.Errorf("process %d of worker %d has life %d, want %d", process, w, b, a)
			}
		}
	}
}

func savedOf(requests map[uint64]*Request) map[uint64]SavedRequest {
	all := map[uint64]SavedRequest{}
	for seq, q := range requests {
		all[seq] = q.Saved()
	}
	return all
}
