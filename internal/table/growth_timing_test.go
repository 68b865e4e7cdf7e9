package table

import (
	"runtime"
	"testing"
	"time"

	"github.com/gofleet/gofleet/optimizer"
)

// The bytes of a row, by the table's own count and by that of the heap, and how fast rows are born.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []struct {
		name string
		rows int
	}{{"1M", 1_000_000}, {"10M", 10_000_000}} {
		b.Run("table/adagrad/"+n.name, func(b *testing.B) {
			for b.Loop() {
				before := heap()
				start := time.Now()
				t := fullTable(b, optimizer.Adagrad{}, n.rows)
				took := time.Since(start)
				b.ReportMetric(float64(t.Stats().Bytes)/float64(n.rows), "bytes/row")
				b.ReportMetric(float64(heap()-before)/float64(n.rows), "heap-bytes/row")
				b.ReportMetric(float64(took)/float64(n.rows), "ns/birth")
				runtime.KeepAlive(t)
			}
		})
	}
	b.Run("map/adagrad/1M", func(b *testing.B) {
		for b.Loop() {
			before := heap()
			m := fullMap() // weights; the state would be as much again
			b.ReportMetric(float64(heap()-before)/benchRows+4*benchDim, "heap-bytes/row")
			runtime.KeepAlive(m)
		}
	})
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A shrink that looks at a million rows and drops every second.
func BenchmarkShrink(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		t := fullTable(b, optimizer.SGD{}, benchRows)
		t.Tick()
		ids, w := make([]uint64, benchIDs), make([]float32, benchIDs*benchDim)
		for at := 0; at+2*benchIDs <= benchRows; at += 2 * benchIDs {
			for i := range ids {
				ids[i] = scattered(at + 2*i)
			}
			if err := t.Pull(ids, w, 0); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		start := time.Now()
		if _, err := t.Shrink(Shrink{Unseen: 1}); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(time.Since(start))/benchRows, "ns/row")
	}
}
