package kernels

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkRows measures the moves of a batch's embedding rows: 512 samples with 26 ids each, of 4,000 different ones.
func BenchmarkRows(b *testing.B) {
	const ids = 512 * 26
	benchPaths(b, func(b *testing.B) {
		for _, dim := range []int{1, 9, 10, 16, 64} {
			const rows = 4000
			r := rand.New(rand.NewPCG(1, 2))
			table, moved, index := random(r, rows*dim), random(r, ids*dim), make([]int32, ids)
			for i := range index {
				index[i] = r.Int32N(rows)
			}
			benchMove(b, "GatherRows", dim, func() { GatherRows(moved, table, dim, index) }, ids)
			benchMove(b, "ScatterAddRows", dim, func() { ScatterAddRows(table, moved, dim, index) }, ids)
			for i := range index {
				index[i] = int32(i / 512)
			}
			benchMove(b, "ScatterAddRows-one-row", dim, func() { ScatterAddRows(table, moved, dim, index) }, ids)
		}
	})
}

func benchMove(b *testing.B, what string, dim int, move func(), rows int) {
	b.Run(fmt.Sprintf("%s-%d", what, dim), func(b *testing.B) {
		for b.Loop() {
			move()
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*rows), "ns/row")
	})
}

// BenchmarkUnique measures one table's ids of a batch, and those of all tables together.
func BenchmarkUnique(b *testing.B) {
	for _, n := range []int{512, 512 * 26} {
		for _, limit := range []uint64{1_000_001, 1<<64 - 1} {
			b.Run(fmt.Sprintf("%d-below-%d", n, limit), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, 2))
				ids := make([]uint64, n)
				for i := range ids {
					ids[i] = r.Uint64N(limit)
				}
				var u Uniquer
				for b.Loop() {
					Unique(ids, &u)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/id")
			})
		}
	}
}
