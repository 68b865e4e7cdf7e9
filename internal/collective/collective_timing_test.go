package collective_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
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

// BenchmarkLoopback is what the network alone takes for the traffic of 4 MB over 2 ranks: both ends of two connections send and
// receive 2 MB at once, twice.
func BenchmarkLoopback(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	var ends [4]net.Conn
	for i := 0; i < len(ends); i += 2 {
		if ends[i], err = net.Dial("tcp", l.Addr().String()); err != nil {
			b.Fatal(err)
		}
		if ends[i+1], err = l.Accept(); err != nil {
			b.Fatal(err)
		}
		defer ends[i].Close()
		defer ends[i+1].Close()
	}
	var out, in [4][]byte
	for i := range ends {
		out[i], in[i] = make([]byte, 1<<20), make([]byte, 1<<20)
	}
	b.SetBytes(4 << 20)
	for b.Loop() {
		var all sync.WaitGroup
		for i, from := range ends {
			all.Go(func() { half(b, from, ends[i^1], out[i], in[i]) })
		}
		all.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/op")
}

// half sends 2 MB from one end to the other, in two messages.
func half(b *testing.B, from, to net.Conn, out, in []byte) {
	var done sync.WaitGroup
	done.Go(func() {
		for range 2 {
			if _, err := io.ReadFull(to, in); err != nil {
				b.Error(err)
			}
		}
	})
	for range 2 {
		if _, err := from.Write(out); err != nil {
			b.Error(err)
		}
	}
	done.Wait()
}
