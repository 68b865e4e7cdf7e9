package roster

import (
	"errors"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
)

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

// TestWindowForgets acknowledges steps: those that are done are dropped, and one that comes late is stale.
func TestWindowForgets(t *testing.T) {
	var w Window
	for step := uint64(1); step <= 3; step++ {
		st, _, err := w.Enter(step, 0)
		if err != nil {
			t.Fatal(err)
		}
		if step != 2 {
			st.Apply(0, 0, 0)
		}
	}
	if _, _, err := w.Enter(4, 4); err != nil {
		t.Fatal(err)
	}
	if len(w.requests) != 2 { // 2, which is not done, and 4
		t.Errorf("%d steps are kept, want 2", len(w.requests))
	}
	if _, _, err := w.Enter(1, 4); !errors.Is(err, wire.ErrStale) {
		t.Errorf("acknowledged step: %v, want ErrStale", err)
	}
	if _, seen, err := w.Enter(2, 4); err != nil || !seen {
		t.Errorf("open step: seen %v, %v", seen, err)
	}
	if w.forget(1); w.acked != 4 {
		t.Errorf("an older acknowledgement moved the Window to %d", w.acked)
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
				st, _, err := w.Enter(step, c.acked)
				if err != nil {
					t.Fatal(err)
				}
				if i == 0 {
					st.Apply(0, 0, 0)
					w.last = max(w.last, step)
				}
			}
		}
		if got := w.Reached(c.step); got != c.want {
			t.Errorf("acked below %d, applied %v, open %v: step %d reached: %v", c.acked, c.applied, c.open, c.step, got)
		}
	}
}
