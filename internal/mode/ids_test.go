package mode

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestIDsAgainstMap adds, asks, takes and clears beside a map.
func TestIDsAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s IDs
		twin := map[uint64]bool{}
		id := rapid.OneOf(rapid.Uint64Range(0, 200), rapid.Uint64())
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				ids := rapid.SliceOfN(id, 0, 100).Draw(t, "ids")
				s.Add(ids...)
				for _, id := range ids {
					twin[id] = true
				}
			},
			"take": func(t *rapid.T) {
				more := rapid.SliceOfN(id, 0, 3).Draw(t, "there already")
				for _, id := range more {
					twin[id] = true
				}
				if diff := cmp.Diff(nonNil(slices.Sorted(maps.Keys(twin))), nonNil(s.Take(more))); diff != "" {
					t.Fatal(diff)
				}
				clear(twin)
			},
			"clear": func(*rapid.T) { s.Clear(); clear(twin) },
			"": func(t *rapid.T) {
				x := id.Draw(t, "id")
				if s.Has(x) != twin[x] || s.Len() != len(twin) {
					t.Fatalf("has %d: %v, %d ids; want %v, %d", x, s.Has(x), s.Len(), twin[x], len(twin))
				}
			},
		})
	})
}

// TestManyIDs sorts as many as are sorted by digits, in one digit and in all.
func TestManyIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, bits := range []int{9, 20, 64} {
		var s IDs
		var want []uint64
		for range 5000 {
			want = append(want, r.Uint64()>>(64-bits))
		}
		s.Add(want...)
		slices.Sort(want)
		if diff := cmp.Diff(slices.Compact(want), s.Take(nil)); diff != "" {
			t.Errorf("ids of %d bits: %s", bits, diff)
		}
	}
}

func nonNil(ids []uint64) []uint64 { return append([]uint64{}, ids...) }

// BenchmarkIDs notes 100 batches of 6,000 ids, skewed as those of clicks are, and takes them.
func BenchmarkIDs(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	z := rand.NewZipf(r, 1.1, 10, 1_000_000)
	batches := make([][]uint64, 100)
	for i := range batches {
		for range 6000 {
			batches[i] = append(batches[i], z.Uint64())
		}
	}
	b.Run("IDs", func(b *testing.B) {
		var s IDs
		var dst []uint64
		for b.Loop() {
			for _, ids := range batches {
				s.Add(ids...)
			}
			dst = s.Take(dst[:0])
		}
	})
	b.Run("map", func(b *testing.B) {
		s := map[uint64]struct{}{}
		for b.Loop() {
			for _, ids := range batches {
				for _, id := range ids {
					s[id] = struct{}{}
				}
			}
			_ = slices.Sorted(maps.Keys(s))
			clear(s)
		}
	})
}
