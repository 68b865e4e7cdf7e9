package layout

import (
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/internal/law"
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

// Promise: [G3] every element has exactly one place
// Also: TestCutAgainstOwns
func TestPartsHoldEveryElementOnce(t *testing.T) {
	frozen := dense("stats", 4)
	frozen.Frozen, frozen.G = true, nil
	params := []*optimizer.Param{dense("w", 784, 128), embedding("emb", 1000001, 10), dense("b", 128), frozen}
	l, err := New(params, 3, placement.Options{})
	law.Check(t, err)
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
		law.Check(t, err)
		e := &l.Embeddings[0]
		ids := rapid.SliceOfDistinct(rapid.Uint64Range(0, 39), func(id uint64) uint64 { return id }).Draw(t, "ids")
		slices.Sort(ids)
		shares := make([]Share, servers)
		for range 2 { // the second time over used shares
			e.Cut(ids, shares)
		}
		for s := range shares {
			var want, got []uint64
			for _, id := range ids {
				if e.Owns(s, id) {
					want = append(want, id)
				}
			}
			for i := shares[s].Lo; shares[s].Run() && i < shares[s].Hi; i++ {
				got = append(got, ids[i])
			}
			for _, i := range shares[s].At {
				got = append(got, ids[i])
			}
			foreign := slices.IndexFunc(ids, func(id uint64) bool { return !e.Owns(s, id) })
			if at := e.Foreign(s, ids); at != foreign {
				t.Fatalf("server %d: the first foreign id is at %d, says %d", s, foreign, at)
			}
			if !slices.Equal(got, want) || shares[s].Len() != len(want) {
				t.Fatalf("server %d got ids %v, owns %v", s, got, want)
			}
		}
	})
}

// Promise: [G8] ids out of range, and another fingerprint, are refused; the first difference is named
// Also: TestCheckIDs
func TestFingerprintNamesTheFirstDifference(t *testing.T) {
	of := func(name string, width int, lr float64, servers int, facts ...string) Fingerprint {
		l, err := New([]*optimizer.Param{dense(name, 4, width)}, servers, placement.Options{})
		law.Check(t, err)
		return l.Fingerprint(optimizer.SGD{LR: lr}, facts...)
	}
	long := func(end string) string { return Fact("value", strings.Repeat("x", 1000)+end) }
	base, x := of("w", 3, 0.1, 2), strings.Repeat("x", 20)
	for want, c := range map[string][2]Fingerprint{
		"": {base, of("w", 3, 0.1, 2)},
		"server 0 has rule optimizer.SGD{LR:0.1}, worker 1 has optimizer.SGD{LR:0.2}": {base, of("w", 3, 0.2, 2)},
		`server 0 has param "w" shape [4 3], worker 1 has [4 5]`:                      {base, of("w", 5, 0.1, 2)},
		"server 0 has servers 2, worker 1 has 3" + remedies["servers"]:                {base, of("w", 3, 0.1, 3)},
		"server 0 has workers 2, worker 1 has 3" + remedies["workers"]:                {of("w", 3, 0.1, 2, Fact("workers", 2)), of("w", 3, 0.1, 2, Fact("workers", 3))},
		`server 0 has param "w" shape [4 3], worker 1 has none`:                       {base, of("v", 3, 0.1, 2)},
		`server 0 has strategy mode "geo", worker 1 leaves it at its default`:         {of("w", 3, 0.1, 2, Fact("strategy mode", `"geo"`)), base},
		"worker 1 has workers 2, server 0 has none":                                   {base, of("w", 3, 0.1, 2, Fact("workers", 2))},
		"server 0 has a where worker 1 has b: they come in another order":             {{Fact("a", 1), Fact("b", 1)}, {Fact("b", 1), Fact("a", 1)}},
		"server 0 has value …" + x + "1, worker 1 has …" + x + "2":                    {{long("1")}, {long("2")}},
	} {
		if d := c[0].Difference("server 0", c[1], "worker 1"); d != want {
			t.Errorf("the difference is %q, want %q", d, want)
		}
		if same := c[0].Sum() == c[1].Sum(); same != (want == "") {
			t.Errorf("%q: one sum: %v", want, same)
		}
	}
}

func TestCheckIDs(t *testing.T) {
	l, err := New([]*optimizer.Param{embedding("emb", 10, 1), embedding("open", 0, 1)}, 1, placement.Options{})
	law.Check(t, err)
	limited, open := &l.Embeddings[0], &l.Embeddings[1]
	if err := limited.CheckIDs([]uint64{1, 10}); err == nil || !strings.Contains(err.Error(), `id 10 of embedding "emb", whose height is 10`) {
		t.Errorf("id at the height: %v", err)
	}
	if limited.CheckIDs([]uint64{9}) != nil || limited.CheckIDs(nil) != nil || open.CheckIDs([]uint64{1 << 63}) != nil {
		t.Error("good ids refused")
	}
}
