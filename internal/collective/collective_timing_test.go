package collective_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/internal/collective"
)

// BenchmarkAllReduce reduces vectors of float32 over loopback TCP; MB/s counts the vector once.
func BenchmarkAllReduce(b *testing.B) {
	for _, ranks := range []int{2, 4} {
		for _, size := range []int{64, 64 << 10, 4 << 20, 32 << 20} {
			b.Run(fmt.Sprintf("ranks=%d/bytes=%d", ranks, size), func(b *testing.B) { benchmark(b, networks()["FastHTTP"](b, ranks), size) })
		}
	}
}

// BenchmarkCut compares sizes of messages for 4 MB over 2 ranks.
func BenchmarkCut(b *testing.B) {
	for _, chunk := range []int{128 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20} {
		for _, window := range []int{1, 2, 3, 4} {
			b.Run(fmt.Sprintf("chunk=%d/window=%d", chunk, window), func(b *testing.B) {
				c := networks()["FastHTTP"](b, 2)
				c.Chunk, c.Window = chunk, window
				benchmark(b, c, 4<<20)
			})
		}
	}
}

func benchmark(b *testing.B, c collective.Config, size int) {
	b.SetBytes(int64(size))
	mustRun(b, c, func(ctx context.Context, g *collective.Group) error {
		x := make([]float32, size/4)
		if err := g.Barrier(ctx); err != nil {
			return err
		}
		if g.Rank() == 0 {
			b.ResetTimer()
		}
		for range b.N {
			if err := collective.AllReduce(ctx, g, collective.Sum, x); err != nil {
				return err
			}
		}
		if g.Rank() == 0 {
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/op")
		}
		return nil
	})
}
