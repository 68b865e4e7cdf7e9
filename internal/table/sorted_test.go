package table

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSortedIsSort sorts ids as slices.Sort does: of ranges, hashes, equal ones, and some that lie far from all others.
func TestSortedIsSort(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func(i int) uint64{
		"range":     func(i int) uint64 { return 1<<40 + uint64(i)*7%1000 },
		"descent":   func(i int) uint64 { return ^uint64(i) },
		"hashes":    func(int) uint64 { return r.Uint64() },
		"equal":     func(int) uint64 { return ^uint64(0) },
		"outliers":  func(i int) uint64 { return uint64(i) << (r.IntN(60) * (i & 1)) },
		"both ends": func(int) uint64 { return -r.Uint64N(2) },
	} {
		for _, n := range []int{0, 1, 2, 63, 64, 65, 1000, 10_000} {
			ids := make([]uint64, n)
			for i := range ids {
				ids[i] = draw(i)
			}
			want := slices.Sorted(slices.Values(ids))
			if got := sorted(ids); !slices.Equal(got, want) {
				t.Errorf("%d ids, %s: %v, want %v", n, name, got[:min(n, 20)], want[:min(n, 20)])
			}
		}
	}
}
