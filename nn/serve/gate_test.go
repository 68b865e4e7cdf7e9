package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/internal/law"
)

// TestMaxRowsBounds: no more rows are computed at a time than may be, calls of few rows begin before large ones and
// beside them, one of too many rows is computed when no other large one is, and a call whose context ends while it
// waits takes no room.
//
// Promise: [G13] a scorer computes no more rows at a time than it may, small calls before large ones
// Also: TestScorersWaitForRoom
func TestMaxRowsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{most: 80}
		var begun []string
		var mu sync.Mutex
		leaves := map[string]func(){}
		call := func(ctx context.Context, name string, rows int) {
			go func() {
				leave, err := g.enter(ctx, rows)
				mu.Lock()
				defer mu.Unlock()
				if begun = append(begun, name); err != nil {
					begun[len(begun)-1] += ": " + err.Error()
				}
				leaves[name] = leave
			}()
			synctest.Wait()
		}
		want := func(when, names string) {
			t.Helper()
			synctest.Wait()
			if got := strings.Join(begun, ", "); got != names || g.busy > g.most {
				t.Errorf("%s: %q have begun, want %q; %d rows of %d", when, got, names, g.busy, g.most)
			}
			begun = nil
		}
		leave := func(name string) { leaves[name](); synctest.Wait() }
		ctx, cancel := context.WithCancel(t.Context())
		call(ctx, "large", 50)
		call(ctx, "second", 40)
		call(ctx, "huge", 1000)
		call(ctx, "small", 10)
		call(ctx, "tiny", 1)
		want("a large call leaves room for small ones", "large, small, tiny")
		leave("tiny")
		leave("small")
		want("and for no other", "")
		leave("large")
		want("then the smaller begins", "second")
		given, giveUp := context.WithCancel(ctx)
		call(given, "given up", 30)
		giveUp()
		want("a call is given up", "given up: context canceled")
		leave("second")
		want("a call of too many rows begins at last", "huge")
		leave("huge")
		if cancel(); g.busy != 0 || len(g.waiting) != 0 {
			t.Errorf("%d rows are busy, %d calls wait", g.busy, len(g.waiting))
		}
	})
}

// TestScorersWaitForRoom: calls of every kind wait while so many rows are computed, and say nothing else than without a
// bound.
func TestScorersWaitForRoom(t *testing.T) {
	dir := t.TempDir()
	n := trainedToy(t, dir, toyFormat())
	if _, err := OpenScorer(dir, ScorerOptions{MaxRows: -1}); err == nil || !strings.Contains(err.Error(), "MaxRows is -1") {
		t.Errorf("a bound below 0: %v", err)
	}
	free, err := OpenScorer(dir, ScorerOptions{})
	law.Check(t, err)
	bound, err := OpenScorer(dir, ScorerOptions{MaxRows: 3})
	law.Check(t, err)
	feeds := map[string]*tensor.Dense{}
	for name, f := range n.batch(1, 8) {
		for _, v := range free.Feeds() {
			if v.Name == name {
				feeds[name] = f
			}
		}
	}
	text := []byte(toyLines)
	calls := map[string]func(context.Context, *Scorer) (Scores, error){
		"Score":      func(ctx context.Context, s *Scorer) (Scores, error) { return s.Score(ctx, feeds) },
		"ScoreLines": func(ctx context.Context, s *Scorer) (Scores, error) { return s.ScoreLines(ctx, text) },
	}
	for name, call := range calls {
		want, err := call(t.Context(), free)
		law.Check(t, err)
		leave, err := bound.gate.enter(t.Context(), 3)
		law.Check(t, err)
		ended, end := context.WithCancel(t.Context())
		end()
		if _, err := call(ended, bound); !errors.Is(err, context.Canceled) {
			t.Errorf("%s beside a call that has all room: %v", name, err)
		}
		leave()
		if got, err := call(t.Context(), bound); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s says %v, %v; without a bound %v", name, got, err, want)
		}
	}
}
