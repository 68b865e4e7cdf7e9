package server

import (
	"errors"
	"testing"

	"github.com/gofleet/gofleet/internal/wire"
)

func TestWindowKnowsAStepAgain(t *testing.T) {
	var w window
	first, seen, err := w.enter(1, 0)
	if err != nil || seen {
		t.Fatalf("first push: seen %v, %v", seen, err)
	}
	first.apply(0, 0)
	if again, seen, err := w.enter(1, 0); err != nil || !seen || again != first {
		t.Errorf("second push: seen %v, same %v, %v", seen, again == first, err)
	}
}

// TestWindowForgets acknowledges steps: those that are done are dropped, and one that comes late is stale.
func TestWindowForgets(t *testing.T) {
	var w window
	for step := uint64(1); step <= 3; step++ {
		st, _, err := w.enter(step, 0)
		if err != nil {
			t.Fatal(err)
		}
		if step != 2 {
			st.apply(0, 0)
		}
	}
	if _, _, err := w.enter(4, 4); err != nil {
		t.Fatal(err)
	}
	if len(w.steps) != 2 { // 2, which is not done, and 4
		t.Errorf("%d steps are kept, want 2", len(w.steps))
	}
	if _, _, err := w.enter(1, 4); !errors.Is(err, wire.ErrStale) {
		t.Errorf("acknowledged step: %v, want ErrStale", err)
	}
	if _, seen, err := w.enter(2, 4); err != nil || !seen {
		t.Errorf("open step: seen %v, %v", seen, err)
	}
	if w.forget(1); w.acked != 4 {
		t.Errorf("an older acknowledgement moved the window to %d", w.acked)
	}
}

func TestWindowIsBounded(t *testing.T) {
	var w window
	for step := range uint64(maxOutstanding) {
		if _, _, err := w.enter(step, 0); err != nil {
			t.Fatal(err)
		}
	}
	var refusal *wire.Refusal
	if _, _, err := w.enter(maxOutstanding, 0); !errors.As(err, &refusal) || refusal.Status != wire.StatusRefused {
		t.Errorf("one more: %v, want a refusal", err)
	}
}
