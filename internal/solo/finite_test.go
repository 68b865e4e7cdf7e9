package solo

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

func embedding(dim int) *optimizer.Param {
	return &optimizer.Param{Name: "a", Shape: []int{0, dim}, Embedding: true}
}

// TestFiniteLooksEverywhere puts one number that is not finite in every place of a variable's gradient and of rows'.
func TestFiniteLooksEverywhere(t *testing.T) {
	nan := float32(math.NaN())
	for at := range 10 {
		p := &optimizer.Param{Name: "w", Shape: []int{4}, G: []float32{1, 2, 3, 4}}
		rows := []optimizer.Rows{{Param: embedding(3), IDs: []uint64{4, 5}, G: []float32{1, 2, 3, 4, 5, 6}}}
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
		rows := []optimizer.Rows{{Param: embedding(3), IDs: []uint64{4, 5}, G: []float32{1, -inf, 3, 4, rng.Float32(), 6}}}
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

func TestSkippedRowsTakeTheirCountsAlong(t *testing.T) {
	nan := float32(0)
	nan /= nan
	p := embedding(1)
	p.Entry.ShowClick.Threshold = 1
	rows := []optimizer.Rows{{Param: p, IDs: []uint64{1, 2, 3}, G: []float32{1, nan, 3}, Show: []float32{4, 5, 6}, Click: []float32{1, 2, 3}}}
	got, err := new(Tally).Finite(strategy.NotFiniteSkip, nil, rows)
	if err != nil || !slices.Equal(got[0].Show, []float32{4, 6}) || !slices.Equal(got[0].Click, []float32{1, 3}) {
		t.Errorf("rows %+v, error %v", got, err)
	}
	rows[0].Show[1] = -1
	if _, err := new(Tally).Finite(strategy.NotFiniteSkip, nil, rows); err == nil {
		t.Error("a negative number of shows was taken")
	}
}
