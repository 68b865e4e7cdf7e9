package serve

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"weak"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
)

// together is a context at which so many calls meet before they compute.
type together struct {
	context.Context
	once sync.Once
	all  *sync.WaitGroup
}

func (c *together) Err() error {
	c.once.Do(func() { c.all.Done(); c.all.Wait() })
	return c.Context.Err()
}

// heapBytes is what lives in memory.
func heapBytes() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// TestScorersLetMemoryGo: what is kept behind many large batches is bounded, one of them is kept for the next, and nothing that a caller fed.
func TestScorersLetMemoryGo(t *testing.T) {
	law.Slow(t)
	was := mostKept
	mostKept = 8 << 20
	t.Cleanup(func() { mostKept = was })
	const rows, width, calls = 2000, 256, 12 // 2 MB of each node
	for _, join := range []int{0, 1 << 20} {
		g := nn.NewGraph(1)
		x := g.Input("x", width)
		s, err := NewScorer(&Model{Graph: g, Outputs: []*nn.Node{nn.Scale(nn.Sigmoid(nn.Scale(x, 2, 0)), 1, 1)}}, ScorerOptions{Join: join})
		law.Check(t, err)
		score := func(ctx context.Context) weak.Pointer[float32] {
			values := make([]float32, rows*width)
			if out, err := s.Score(ctx, batchOf{"x": nn.Floats(values, width)}); err != nil || len(out.Values[0]) != rows*width {
				t.Errorf("%d numbers, %v", len(out.Values[0]), err)
			}
			return weak.Make(&values[0])
		}
		before := heapBytes()
		var all, meet sync.WaitGroup
		meet.Add(calls)
		fed := make([]weak.Pointer[float32], calls)
		for i := range calls {
			all.Go(func() { fed[i] = score(&together{Context: t.Context(), all: &meet}) })
		}
		all.Wait()
		if kept := heapBytes() - before; kept > mostKept+1<<20 {
			t.Errorf("Join %d: %d bytes are kept behind %d calls, want at most %d", join, kept, calls, mostKept)
		}
		for i, f := range fed {
			if f.Value() != nil {
				t.Errorf("Join %d: what call %d was fed is kept", join, i)
			}
		}
		mostKept = 1 << 20
		for range 2 {
			score(t.Context())
		}
		if r := s.now.Load(); len(r.free) != 1 || r.kept != r.free[0].size || r.kept < mostKept {
			t.Errorf("Join %d: behind one call after the other %d workspaces of %d bytes are kept, want 1", join, len(r.free), r.kept)
		}
		mostKept = 8 << 20
	}
}

// TestScoresStayWhileAModelIsTrained: a scorer's model that is trained further has the scores that it was loaded with, meanwhile and afterwards.
//
// Promise: [G13] training a loaded model further does not change its scores
func TestScoresStayWhileAModelIsTrained(t *testing.T) {
	dir := t.TempDir()
	n := trainedToy(t, dir, toyFormat())
	m, err := Load(dir)
	law.Check(t, err)
	loss := nn.Mean(nn.LogLoss(m.Outputs[0], m.Graph.Input("label", 1)))
	s, err := NewScorer(m, ScorerOptions{})
	law.Check(t, err)
	feeds := n.batch(9, 5)
	want, err := s.Score(t.Context(), feeds)
	law.Check(t, err)
	same := func() {
		got, err := s.Score(t.Context(), feeds)
		if err != nil || !slices.Equal(bitsOf(got.Values[0]), bitsOf(want.Values[0])) {
			t.Errorf("scores %v, %v, want %v", got, err, want)
		}
	}
	minimise(t, loss, 0.3)
	exe := nn.NewExecutor(m.Graph)
	var all sync.WaitGroup
	all.Go(func() {
		batch := n.batch(3, 8)
		batch["label"] = nn.Floats(make([]float32, 8))
		for range 20 {
			must(t, exe, batch, loss)
		}
	})
	all.Go(func() {
		for range 20 {
			same()
		}
	})
	all.Wait()
	if out, err := exe.Eval(t.Context(), feeds, m.Outputs[0]); err != nil || math.Abs(float64(out[0].Float32s()[0]-want.Values[0][0])) < 1e-3 {
		t.Errorf("it was not trained: %v, %v", out, err)
	}
	law.Check(t, exe.Close(t.Context()))
	same()
}
