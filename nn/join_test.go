package nn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"gorgonia.org/tensor"
)

// rowsOf are n rows of a batch from row at on.
func rowsOf(b batchOf, at, n int) batchOf {
	some := batchOf{}
	for name, t := range b {
		offsets := b[name+".offsets"]
		switch {
		case strings.HasSuffix(name, ".offsets"):
		case offsets != nil:
			o := slices.Clone(offsets.Int64s()[at : at+n+1])
			from, to := int(o[0]), int(o[n])
			for i := range o {
				o[i] -= offsets.Int64s()[at]
			}
			some[name+".offsets"] = int64sOf([]int{n + 1}, o...)
			if t.Dtype() == tensor.Float32 {
				some[name] = partOf(t, t.Float32s(), from, to-from)
			} else {
				some[name] = partOf(t, t.Int64s(), from, to-from)
			}
		case t.Dtype() == tensor.Int64:
			some[name] = partOf(t, t.Int64s(), at, n)
		case t.Dtype() == tensor.Uint64:
			some[name] = partOf(t, t.Uint64s(), at, n)
		default:
			some[name] = partOf(t, t.Float32s(), at, n)
		}
	}
	return some
}

func partOf[T any](t *tensor.Dense, all []T, at, n int) *tensor.Dense {
	each := product(t.Shape()[1:])
	return tensor.New(tensor.WithShape(append([]int{n}, t.Shape()[1:]...)...), tensor.WithBacking(all[at*each:(at+n)*each]))
}

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
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{2, 7, 100} {
		s, err := OpenScorer(dir, ScorerOptions{Join: most})
		if err != nil {
			t.Fatal(err)
		}
		scores, errs := joined(t, s, batches)
		for i, b := range batches {
			want, err := lone.Score(t.Context(), b)
			if err != nil || errs[i] != nil || !slices.Equal(bitsOf(scores[i].Values[0]), bitsOf(want.Values[0])) {
				t.Errorf("at most %d rows, call %d: %v, %v; want %v, %v", most, i, scores[i], errs[i], want, err)
			}
		}
		largest := 0
		for _, w := range s.now.Load().free {
			largest = max(largest, w.joint.rows)
		}
		if largest > most || most > 2 && largest < most/2 {
			t.Errorf("at most %d rows: the largest batch had %d", most, largest)
		}
	}
}

// TestEveryOpIsOfItsRow: a row of every op has the bits that it has without other rows beside it, or the op is not scored.
func TestEveryOpIsOfItsRow(t *testing.T) {
	seen := 0
	for _, c := range gradientCases {
		t.Run(c.name, func(t *testing.T) {
			g, feeds := NewGraph(1), batchOf{}
			nodes := make([]*Node, len(c.args))
			for i, a := range c.args {
				nodes[i] = a.node(g, feeds, fmt.Sprintf("in%d", i), a.draw(uint32(40+i)))
			}
			out := c.build(nodes)
			if g.Err() != nil || len(feeds) == 0 || scorable(out) != nil {
				return
			}
			s, err := NewScorer(&Model{Graph: g, Outputs: []*Node{out}}, ScorerOptions{Join: 100})
			if err != nil {
				t.Fatal(err)
			}
			seen++
			all, err := s.Score(t.Context(), feeds)
			if err != nil {
				t.Fatal(err)
			}
			rows := rowsIn(feeds)
			var batches []batchOf
			var alone []uint32
			for i := range rows {
				batches = append(batches, rowsOf(feeds, i, 1))
				one, err := s.Score(t.Context(), batches[i])
				if err != nil {
					t.Fatal(err)
				}
				alone = append(alone, bitsOf(one.Values[0])...)
			}
			if !slices.Equal(alone, bitsOf(all.Values[0])) {
				t.Errorf("row by row %v, together %v", alone, bitsOf(all.Values[0]))
			}
			scores, errs := joined(t, s, batches)
			for i, each := 0, len(alone)/rows; i < rows; i++ {
				if errs[i] != nil || !slices.Equal(bitsOf(scores[i].Values[0]), alone[i*each:(i+1)*each]) {
					t.Errorf("row %d joined: %v, %v; want bits %v", i, scores[i], errs[i], alone[i*each:(i+1)*each])
				}
			}
		})
	}
	if seen < 40 {
		t.Errorf("only %d ops were joined", seen)
	}
}

// rowsIn is the number of examples of a batch.
func rowsIn(b batchOf) int {
	for name, t := range b {
		switch {
		case strings.HasSuffix(name, ".offsets"):
			return t.Shape()[0] - 1
		case b[name+".offsets"] == nil:
			return t.Shape()[0]
		}
	}
	return 0
}

// TestJoinedCallsFailAlone: what is wrong with a call is that call's error, and a call that is given up leaves the others as they are.
func TestJoinedCallsFailAlone(t *testing.T) {
	g := NewGraph(1)
	x := g.Input("x", 1)
	loss := LogLoss(Scale(x, 1, 0), g.Input("y", 1)) // of probabilities that are computed, and so checked as they come
	scorer := func() *Scorer {
		s, err := NewScorer(&Model{Graph: g, Outputs: []*Node{loss}}, ScorerOptions{Join: 100})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	feeds := func(p float32) batchOf { return batchOf{"x": Floats([]float32{p}), "y": Floats([]float32{1})} }
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
	g := NewGraph(1)
	x := g.Input("x", 1)
	m := &Model{Graph: g, Outputs: []*Node{Scale(x, 2, 0)}}
	if _, err := NewScorer(m, ScorerOptions{Join: -1}); err == nil || !strings.Contains(err.Error(), "Join is -1") {
		t.Errorf("got %v", err)
	}
	mixed := MatMul(x, Reshape(Mean(x), 1, 1))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := NewScorer(&Model{Graph: g, Outputs: []*Node{mixed}}, ScorerOptions{Join: 8}); err == nil {
		t.Error("joined")
	}
}
