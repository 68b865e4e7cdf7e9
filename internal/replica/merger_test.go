package replica

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/internal/collective"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func embeddings() []*optimizer.Param {
	return []*optimizer.Param{
		{Name: "a", Shape: []int{0, 3}, Embedding: true}, {Name: "w", Shape: []int{2}},
		{Name: "b", Shape: []int{10, 1}, Embedding: true},
	}
}

func TestRowsTravel(t *testing.T) {
	params := embeddings()
	m := newMerger(params, strategy.WeightSamples)
	rows := []optimizer.Rows{
		{Param: params[0], IDs: []uint64{1, 1 << 63}, G: []float32{1, 2, 3, 4, 5, 6}},
		{Param: params[2], IDs: []uint64{9}, G: []float32{-1}},
	}
	n, got, err := m.parse(m.append(nil, collective.Part{Weight: 7}, rows))
	if err != nil || n != 7 || len(got) != 2 {
		t.Fatalf("weight %d, %d embeddings, error %v", n, len(got), err)
	}
	for e := range rows {
		if !slices.Equal(got[e].IDs, rows[e].IDs) || !slices.Equal(got[e].G, rows[e].G) {
			t.Errorf("embedding %d: %+v, want %+v", e, got[e], rows[e])
		}
	}
	if n, _, err := m.parse(m.append(nil, collective.Part{Ended: true}, nil)); n >= 0 || err != nil {
		t.Errorf("one that ended has weight %d, error %v", n, err)
	}
	if _, got, err := m.parse(m.append(nil, collective.Part{Weight: 1}, rows[1:])); err != nil || len(got[0].IDs) != 0 || len(got[1].IDs) != 1 {
		t.Errorf("rows of one embedding alone: %+v, error %v", got, err)
	}
}

func FuzzRows(f *testing.F) {
	m := newMerger(embeddings(), strategy.WeightSamples)
	f.Add(m.append(nil, collective.Part{Weight: 3}, nil))
	f.Add(append(make([]byte, 8), 255, 255, 255, 255, 255, 255, 255, 255))
	f.Fuzz(func(t *testing.T, b []byte) {
		n, rows, err := m.parse(b)
		if err != nil || n < 0 {
			return
		}
		for e, r := range rows {
			if len(r.G) != len(r.IDs)*m.params[e].Dim() {
				t.Errorf("%d floats for %d rows", len(r.G), len(r.IDs))
			}
		}
	})
}

// TestFiniteLooksEverywhere puts one number that is not finite in every place of a variable's gradient and of rows'.
func TestFiniteLooksEverywhere(t *testing.T) {
	nan := float32(math.NaN())
	for at := range 10 {
		p := &optimizer.Param{Name: "w", Shape: []int{4}, G: []float32{1, 2, 3, 4}}
		rows := []optimizer.Rows{{Param: embeddings()[0], IDs: []uint64{4, 5}, G: []float32{1, 2, 3, 4, 5, 6}}}
		if at < 4 {
			p.G[at] = nan
		} else {
			rows[0].G[at-4] = nan
		}
		if _, err := new(Tally).Finite(strategy.NotFiniteRefuse, []*optimizer.Param{p}, rows); err == nil {
			t.Errorf("what is not finite in place %d was let in", at)
		}
	}
	frozen := &optimizer.Param{Name: "f", Shape: []int{1}, G: []float32{nan}, Frozen: true}
	kept := &optimizer.Param{Name: "e", Shape: []int{0, 1}, Embedding: true, Frozen: true}
	if _, err := new(Tally).Finite(strategy.NotFiniteRefuse, []*optimizer.Param{frozen}, []optimizer.Rows{{Param: kept, IDs: []uint64{1}, G: []float32{nan}}}); err != nil {
		t.Errorf("a gradient that nobody asks for: %v", err)
	}
}

func TestFinite(t *testing.T) {
	inf := float32(math.Inf(1))
	rng := rand.New(rand.NewPCG(1, 2))
	for _, policy := range strategy.NotFinites() {
		p := &optimizer.Param{Name: "w", Shape: []int{3}, G: []float32{2, inf, inf - inf}}
		rows := []optimizer.Rows{{Param: embeddings()[0], IDs: []uint64{4, 5}, G: []float32{1, -inf, 3, 4, rng.Float32(), 6}}}
		left, err := new(Tally).Finite(policy, []*optimizer.Param{p}, rows)
		switch policy {
		case strategy.NotFiniteRefuse:
			if err == nil {
				t.Error("an infinity was let in")
			}
		case strategy.NotFiniteSkip:
			if err != nil || !slices.Equal(p.G, make([]float32, 3)) || !slices.Equal(left[0].IDs, []uint64{5}) || left[0].G[0] != 4 {
				t.Errorf("skip: %v, %+v, error %v", p.G, left, err)
			}
		case strategy.NotFiniteClip:
			if err != nil || !slices.Equal(p.G, []float32{2, 2, 0}) || !slices.Equal(left[0].G[:3], []float32{1, -3, 3}) {
				t.Errorf("clip: %v, %+v, error %v", p.G, left, err)
			}
		}
		if rows[0].G[1] != -inf {
			t.Error("the caller's rows were changed")
		}
	}
}
