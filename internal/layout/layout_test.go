package layout

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy/placement"
	"pgregory.net/rapid"
)

func dense(name string, shape ...int) *optimizer.Param {
	p := &optimizer.Param{Name: name, Shape: shape}
	p.W, p.G = make([]float32, p.Size()), make([]float32, p.Size())
	return p
}

func embedding(name string, height, dim int) *optimizer.Param {
	return &optimizer.Param{Name: name, Shape: []int{height, dim}, Embedding: true}
}

func TestPartsHoldEveryElementOnce(t *testing.T) {
	frozen := dense("stats", 4)
	frozen.Frozen, frozen.G = true, nil
	params := []*optimizer.Param{dense("w", 784, 128), embedding("emb", 1000001, 10), dense("b", 128), frozen}
	l, err := New(params, 3, placement.Options{})
	if err != nil {
		t.Fatal(err)
	}
	covered := map[int]int{}
	for _, part := range l.Parts {
		at := 0
		for _, b := range part.Blocks {
			if b.At != at {
				t.Errorf("block %s begins at %d of its part, want %d", b.Name, b.At, at)
			}
			at += b.Size
			covered[b.Param] += b.Size
		}
		if at != part.Floats {
			t.Errorf("part has %d floats, says %d", at, part.Floats)
		}
	}
	if len(l.Frozen.Blocks) != 1 || l.Frozen.Blocks[0].Param != 3 || l.Frozen.Floats != 4 {
		t.Errorf("frozen: %+v", l.Frozen)
	}
	if covered[0] != 784*128 || covered[2] != 128 || len(covered) != 2 {
		t.Errorf("elements covered by param: %v", covered)
	}
}

// TestCutAgainstOwns compares the cut with asking for every id.
func TestCutAgainstOwns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		servers := rapid.IntRange(1, 4).Draw(t, "servers")
		height := rapid.SampledFrom([]int{0, 40}).Draw(t, "height")
		policy := rapid.SampledFrom(placement.Policies()).Draw(t, "policy")
		l, err := New([]*optimizer.Param{dense("w", 3), embedding("emb", height, 4)}, servers,
			placement.Options{Policy: policy, MinBlockSize: 8, SmallBlocks: true})
		if err != nil {
			t.Fatal(err)
		}
		ids := rapid.SliceOfDistinct(rapid.Uint64Range(0, 39), func(id uint64) uint64 { return id }).Draw(t, "ids")
		slices.Sort(ids)
		shares := make([]Share, servers)
		for range 2 { // the second time over used shares
			l.Cut(1, ids, shares)
		}
		for s := range shares {
			var want, got []uint64
			for _, id := range ids {
				if l.Owns(s, 1, id) {
					want = append(want, id)
				}
			}
			for i := shares[s].Lo; shares[s].Run() && i < shares[s].Hi; i++ {
				got = append(got, ids[i])
			}
			for _, i := range shares[s].At {
				got = append(got, ids[i])
			}
			foreign := slices.IndexFunc(ids, func(id uint64) bool { return !l.Owns(s, 1, id) })
			if at := l.Foreign(s, 1, ids); at != foreign {
				t.Fatalf("server %d: the first foreign id is at %d, says %d", s, foreign, at)
			}
			if !slices.Equal(got, want) || shares[s].Len() != len(want) {
				t.Fatalf("server %d got ids %v, owns %v", s, got, want)
			}
		}
	})
}

func TestFingerprintNamesTheFirstDifference(t *testing.T) {
	job := func(lr float64, width int) Fingerprint {
		l, err := New([]*optimizer.Param{dense("w", 4, width)}, 2, placement.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return l.Fingerprint(optimizer.SGD{LR: lr}, "{}")
	}
	a := job(0.1, 3)
	if d := a.Difference(job(0.1, 3)); d != "" || a.Sum() != job(0.1, 3).Sum() {
		t.Errorf("equal jobs differ: %s", d)
	}
	if d := a.Difference(job(0.2, 3)); !strings.Contains(d, "SGD") || !strings.Contains(d, "0.2") {
		t.Errorf("rules differ, but: %s", d)
	}
	if d := a.Difference(job(0.1, 5)); !strings.Contains(d, `param "w" shape [4 3]`) || !strings.Contains(d, "[4 5]") {
		t.Errorf("shapes differ, but: %s", d)
	}
	if a.Sum() == job(0.2, 3).Sum() {
		t.Error("different jobs have one sum")
	}
}

func TestCheckIDs(t *testing.T) {
	l, err := New([]*optimizer.Param{embedding("emb", 10, 1), embedding("open", 0, 1)}, 1, placement.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.CheckIDs(0, []uint64{1, 10}); err == nil || !strings.Contains(err.Error(), `id 10 of embedding "emb", whose height is 10`) {
		t.Errorf("id at the height: %v", err)
	}
	if l.CheckIDs(0, []uint64{9}) != nil || l.CheckIDs(0, nil) != nil || l.CheckIDs(1, []uint64{1 << 63}) != nil {
		t.Error("good ids refused")
	}
}
