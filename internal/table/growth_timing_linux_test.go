package table

import (
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/gofleet/gofleet/optimizer"
)

// The longest and the usual processor time of a call that gives birth to 64 rows, while a single shard grows to two million.
// Time is the thread's own, so that a busy machine doesn't lengthen it; the collector's help that the runtime asks of a
// goroutine which allocates is in it.
func BenchmarkGrowth(b *testing.B) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	const rows, each = 2_000_000, 64
	for b.Loop() {
		t, err := NewSparse(benchParam(), optimizer.SGD{}, Options{Shards: 1})
		if err != nil {
			b.Fatal(err)
		}
		ids, w := make([]uint64, each), make([]float32, each*benchDim)
		took := make([]time.Duration, 0, rows/each)
		for at := 0; at < rows; at += each {
			for i := range ids {
				ids[i] = scattered(at + i)
			}
			start := threadTime(b)
			if err := t.Pull(ids, w, 0); err != nil {
				b.Fatal(err)
			}
			took = append(took, threadTime(b)-start)
		}
		slices.Sort(took)
		at := func(q float64) float64 { return float64(took[int(q*float64(len(took)-1))]) / 1000 }
		b.ReportMetric(at(0.5), "p50-µs/64-births")
		b.ReportMetric(at(0.999), "p99.9-µs")
		b.ReportMetric(at(1), "longest-µs")
	}
}

// threadTime is the processor time that the thread has used.
func threadTime(b *testing.B) time.Duration {
	const clockOfThread = 3 // CLOCK_THREAD_CPUTIME_ID
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockOfThread, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		b.Fatal(errno)
	}
	return time.Duration(ts.Nano())
}
