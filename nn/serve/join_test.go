package serve

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
)

// joined scores batches of feeds that all wait while the processors are busy: what is behind computes them together, as far as it may.
func joined(t *testing.T, s *Scorer, batches []batchOf) (scores []Scores, errs []error) {
	t.Helper()
	scores, errs = make([]Scores, len(batches)), make([]error, len(batches))
	synctest.Test(t, func(t *testing.T) {
		j, busy := s.now.Load().join, occupied(s)
		for i, b := range batches {
			go func() { scores[i], errs[i] = s.Score(t.Context(), b) }()
			synctest.Wait() // they wait in their order
		}
		if len(j.waiting) != len(batches) {
			t.Errorf("%d calls wait of %d", len(j.waiting), len(batches))
		}
		for _, c := range busy {
			j.next([]*call{c})
		}
		synctest.Wait()
		if j.busy != 0 || len(j.waiting) != 0 {
			t.Errorf("at the end %d lanes are busy, %d calls wait", j.busy, len(j.waiting))
		}
	})
	return scores, errs
}

// occupied are calls that keep all lanes busy.
func occupied(s *Scorer) (busy []*call) {
	j := s.now.Load().join
	for range j.lanes {
		busy = append(busy, &call{})
		j.enter(busy[len(busy)-1])
	}
	return busy
}

// TestJoinedCallsAgree: calls that are computed together have the bits that each has alone, whatever feeds they have and however many rows.
//
// Promise: [G13] calls that are computed together have the bits that each has alone; an error stays with its call,
// and a call that is given up leaves the others
// Also: TestJoinedCallsFailAlone
func TestJoinedCallsAgree(t *testing.T) {
	dir := t.TempDir()
	n := trainedToy(t, dir, toyFormat())
	var batches []batchOf
	for i := range 12 {
		batches = append(batches, n.batch(uint32(100+i), 1+i))
	}
	lone, err := OpenScorer(dir, ScorerOptions{})
	law.Check(t, err)
	for _, most := range []int{2, 7, 100} {
		s, err := OpenScorer(dir, ScorerOptions{Join: most})
		law.Check(t, err)
		scores, errs := joined(t, s, batches)
		for i, b := range batches {
			want, err := lone.Score(t.Context(), b)
			if err != nil || errs[i] != nil || !slices.Equal(bitsOf(scores[i].Values[0]), bitsOf(want.Values[0])) {
				t.Errorf("at most %d rows, call %d: %v, %v; want %v, %v", most, i, scores[i], errs[i], want, err)
			}
		}
		largest := 0
		for _, w := range s.now.Load().free {
			largest = max(largest, w.together)
		}
		if largest > most || most > 2 && largest < most/2 {
			t.Errorf("at most %d rows: the largest batch had %d", most, largest)
		}
	}
}

// TestJoinedCallsFailAlone: what is wrong with a call is that call's error, and a call that is given up leaves the others as they are.
func TestJoinedCallsFailAlone(t *testing.T) {
	g := nn.NewGraph(1)
	x := g.Input("x", 1)
	loss := nn.LogLoss(nn.Scale(x, 1, 0), g.Input("y", 1)) // of probabilities that are computed, and so checked as they come
	scorer := func() *Scorer {
		s, err := NewScorer(&Model{Graph: g, Outputs: []*nn.Node{loss}}, ScorerOptions{Join: 100})
		law.Check(t, err)
		return s
	}
	feeds := func(p float32) batchOf { return batchOf{"x": nn.Floats([]float32{p}), "y": nn.Floats([]float32{1})} }
	s := scorer()
	scores, errs := joined(t, s, []batchOf{feeds(0.5), feeds(7), feeds(0.25)})
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "7 is no probability") {
		t.Errorf("a bad call: %v", errs[1])
	}
	for _, i := range []int{0, 2} {
		if errs[i] != nil || len(scores[i].Values[0]) != 1 {
			t.Errorf("call %d beside it: %v, %v", i, scores[i], errs[i])
		}
	}
	if _, err := s.Score(t.Context(), batchOf{}); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Errorf("no feeds: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := scorer()
		busy := occupied(s)
		ctx, giveUp := context.WithCancel(t.Context())
		var given, kept error
		var both sync.WaitGroup
		both.Go(func() { _, given = s.Score(ctx, feeds(0.5)) })
		synctest.Wait()
		both.Go(func() { _, kept = s.Score(t.Context(), feeds(0.5)) })
		synctest.Wait()
		giveUp()
		synctest.Wait()
		for _, c := range busy {
			s.now.Load().join.next([]*call{c})
		}
		both.Wait()
		if given != context.Canceled || kept != nil {
			t.Errorf("given up: %v; kept: %v", given, kept)
		}
	})
}

// TestJoinRefuses: rows that a score would depend on by chance are not joined.
func TestJoinRefuses(t *testing.T) {
	g := nn.NewGraph(1)
	x := g.Input("x", 1)
	m := &Model{Graph: g, Outputs: []*nn.Node{nn.Scale(x, 2, 0)}}
	if _, err := NewScorer(m, ScorerOptions{Join: -1}); err == nil || !strings.Contains(err.Error(), "Join is -1") {
		t.Errorf("got %v", err)
	}
	mixed := nn.MatMul(x, nn.Reshape(nn.Mean(x), 1, 1))
	law.Check(t, g.Err())
	if _, err := NewScorer(&Model{Graph: g, Outputs: []*nn.Node{mixed}}, ScorerOptions{Join: 8}); err == nil {
		t.Error("joined")
	}
}
