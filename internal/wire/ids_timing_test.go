package wire

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkIDs writes and reads 4,096 ids of a million, and of all there are; other ids each time, for a processor learns by
// heart how long those of one list are.
func BenchmarkIDs(b *testing.B) {
	const lists, n = 64, 4096
	for _, height := range []uint64{1 << 14, 1_000_000, 1 << 63} {
		r := rand.New(rand.NewPCG(1, height))
		var ids [lists][]uint64
		var texts [lists][]byte
		for i := range ids {
			for range n {
				ids[i] = append(ids[i], r.Uint64N(height))
			}
			slices.Sort(ids[i])
			ids[i] = slices.Compact(ids[i])
			texts[i] = putIDs(nil, ids[i])
		}
		perID := func(b *testing.B) {
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/id")
		}
		b.Run(fmt.Sprintf("put/%d", height), func(b *testing.B) {
			var dst []byte
			for i := 0; b.Loop(); i++ {
				dst = putIDs(dst[:0], ids[i%lists])
			}
			perID(b)
		})
		b.Run(fmt.Sprintf("read/%d", height), func(b *testing.B) {
			var dst []uint64
			for i := 0; b.Loop(); i++ {
				dst, _ = appendIDs(dst[:0], texts[i%lists], len(ids[i%lists]))
			}
			perID(b)
		})
	}
}
