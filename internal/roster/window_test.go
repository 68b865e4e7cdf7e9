package roster

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gofleet/gofleet/internal/progress"
	"github.com/gofleet/gofleet/internal/wire"
)

// Promise: [G1] a server recognises a repeated push, whole or in pieces, in bounded memory
// Also: TestWindowForgets, TestWindowIsBounded, TestPushCountsOnce (internal/server), TestPiecesAreOnePush
// (internal/server)
func TestWindowKnowsAStepAgain(t *testing.T) {
	var w Window
	first, seen, err := w.Enter(1, 0)
	if err != nil || seen {
		t.Fatalf("first push: seen %v, %v", seen, err)
	}
	first.Apply(0, 0, 0)
	if again, seen, err := w.Enter(1, 0); err != nil || !seen || again != first {
		t.Errorf("second push: seen %v, same %v, %v", seen, again == first, err)
	}
}

// TestWindowForgets acknowledges steps: those that are done are dropped when the step that says so counts, and what comes late is stale.
func TestWindowForgets(t *testing.T) {
	var w Window
	enter := func(step, acked uint64) *Request {
		t.Helper()
		r, seen, err := w.Enter(step, acked)
		if err != nil || seen {
			t.Fatalf("step %d: seen %v, %v", step, seen, err)
		}
		return r
	}
	for step := uint64(1); step <= 3; step++ {
		if r := enter(step, 0); step != 2 {
			r.Apply(0, 0, 0)
		}
	}
	refused := enter(5, 5)
	refused.Refuse(errors.New("no"))
	last := enter(4, 4)
	if _, seen, err := w.Enter(1, 1); err != nil || !seen {
		t.Errorf("a step that a step acknowledges which has not counted: seen %v, %v", seen, err)
	}
	if _, seen, err := w.Enter(4, 1); err != nil || !seen || last.acked != 4 {
		t.Errorf("the same step acknowledges others: seen %v, %v, %d", seen, err, last.acked)
	}
	if w.Accept(last); len(w.requests) != 3 { // 2, which is not done, 4 and 5
		t.Errorf("%d steps are kept, want 3", len(w.requests))
	}
	if _, _, err := w.Enter(1, 1); !errors.Is(err, wire.ErrStale) {
		t.Errorf("acknowledged step: %v, want ErrStale", err)
	}
	if _, seen, err := w.Enter(2, 2); err != nil || !seen {
		t.Errorf("open step: seen %v, %v", seen, err)
	}
	if w.forget(1); w.acked != 4 {
		t.Errorf("an older acknowledgement moved the window to %d", w.acked)
	}
}

// TestNoStepAcknowledgesItsLike: what a step says of steps after it is refused, and changes nothing.
func TestNoStepAcknowledgesItsLike(t *testing.T) {
	for _, acked := range []uint64{3, 1 << 15, math.MaxUint64} {
		var w Window
		var refusal *wire.Refusal
		if _, _, err := w.Enter(2, acked); !errors.As(err, &refusal) || refusal.Status != wire.StatusRefused {
			t.Errorf("step 2 acknowledges those below %d: %v, want a refusal", acked, err)
		}
		if _, seen, err := w.Enter(2, 2); err != nil || seen {
			t.Errorf("after that: seen %v, %v", seen, err)
		}
	}
}

func TestWindowIsBounded(t *testing.T) {
	var w Window
	for step := range uint64(maxOutstanding) {
		if _, _, err := w.Enter(step, 0); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *wire.Refusal
	if _, _, err := w.Enter(maxOutstanding, 0); !errors.As(err, &refusal) || refusal.Status != wire.StatusRefused {
		t.Errorf("one more: %v, want a refusal", err)
	}
	w.requests[0].Apply(0, 0, 0)
	if _, _, err := w.Enter(maxOutstanding, 1); err != nil {
		t.Errorf("one more that acknowledges one: %v", err)
	}
}

// TestWindowReached: a save waits for every step up to one, also for those that later ones overtook.
func TestWindowReached(t *testing.T) {
	for _, c := range []struct {
		acked   uint64
		applied []uint64
		open    []uint64
		step    uint64
		want    bool
	}{
		{0, nil, nil, 0, true},
		{0, nil, nil, 1, false},
		{0, []uint64{1, 2, 3}, nil, 3, true},
		{0, []uint64{1, 2, 3}, []uint64{4}, 3, true},
		{0, []uint64{1, 3}, nil, 3, false},
		{0, []uint64{1, 3}, []uint64{2}, 3, false},
		{3, []uint64{3}, nil, 3, true},
		{3, []uint64{3}, nil, 4, false},
		{3, []uint64{3, 5}, nil, 5, false},
		{9, []uint64{9}, nil, 7, true},
	} {
		var w Window
		for i, steps := range [][]uint64{c.applied, c.open} {
			for _, step := range steps {
				st, _, err := w.Enter(step, min(c.acked, step))
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					st.Apply(0, 0, 0)
					w.Accept(st)
					w.last = max(w.last, step)
				}
			}
		}
		if got := w.Reached(c.step); got != c.want {
			t.Errorf("acked below %d, applied %v, open %v: step %d reached: %v", c.acked, c.applied, c.open, c.step, got)
		}
	}
}

// TestWindowPositions: what is noted of a worker's threads is how far everything before it has come. Pushes overtake each other, merged
// ones have several threads, numbers are missing that were other servers', and one that is refused leaves its worker where it was.
func TestWindowPositions(t *testing.T) {
	const open, applied, refused = 'o', 'a', 'r'
	type request struct {
		seq    uint64
		become rune
		at     []progress.Position
	}
	one := func(samples uint64) []progress.Position { return []progress.Position{{Threads: 1, Samples: samples}} }
	later := []progress.Position{{Threads: 1, Epoch: 1, Samples: 2}}
	both := []progress.Position{{Thread: 0, Threads: 2, Samples: 30}, {Thread: 1, Threads: 2, Samples: 20}}
	for name, c := range map[string]struct {
		requests []request
		acked    uint64 // in the end
		want     []progress.Position
	}{
		"nothing":                  {nil, 0, nil},
		"one":                      {[]request{{1, applied, one(10)}}, 0, one(10)},
		"some say nothing":         {[]request{{1, applied, one(10)}, {2, applied, nil}}, 0, one(10)},
		"one is open":              {[]request{{1, applied, one(10)}, {2, open, one(20)}, {3, applied, one(30)}}, 0, one(10)},
		"one has not come":         {[]request{{1, applied, one(10)}, {3, applied, one(30)}}, 0, one(10)},
		"it was another server's":  {[]request{{1, applied, one(10)}, {3, applied, one(30)}}, 3, one(30)},
		"all were others'":         {[]request{{9000, applied, one(10)}}, 9000, one(10)},
		"open and far behind":      {[]request{{1, applied, one(5)}, {2, open, one(7)}, {9000, applied, one(10)}}, 9000, one(5)},
		"a later one first":        {[]request{{2, applied, one(20)}, {1, applied, one(10)}}, 0, one(20)},
		"refused":                  {[]request{{1, applied, one(10)}, {2, refused, one(20)}, {3, applied, one(30)}}, 4, one(10)},
		"another epoch":            {[]request{{1, applied, one(10)}, {2, applied, later}}, 0, later},
		"threads":                  {[]request{{1, applied, both[1:]}, {2, applied, both[:1]}}, 0, both},
		"merged":                   {[]request{{1, applied, both}}, 0, both},
		"other threads than these": {[]request{{1, applied, both}, {2, applied, one(9)}}, 0, one(9)},
	} {
		t.Run(name, func(t *testing.T) {
			r := New(Options{Workers: 1, Timeout: time.Minute})
			if _, err := r.Begin(0, 1, time.Time{}); err != nil {
				t.Fatal(err)
			}
			w := r.Window(0)
			for _, q := range c.requests {
				request, _, err := w.Enter(q.seq, 0)
				if err != nil {
					t.Fatal(err)
				}
				request.Carry(q.at)
				switch q.become {
				case applied:
					request.Apply(0, 0, 0)
					r.Applied(0, 1, q.seq)
				case refused:
					request.Refuse(errors.New("wrong"))
				}
			}
			w.forget(c.acked)
			if got := r.Positions(0); !slices.Equal(got, c.want) {
				t.Errorf("positions are %v, want %v", got, c.want)
			}
			if _, err := r.Begin(0, 2, time.Time{}); err != nil || !slices.Equal(r.Positions(0), c.want) {
				t.Errorf("the next life begins at %v, want %v; error %v", r.Positions(0), c.want, err)
			}
		})
	}
}
