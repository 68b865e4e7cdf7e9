package overlay

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gofleet/gofleet/internal/law"
)

var benchmarkRows = flag.Int("rows", 1_000_000, "rows of the tables that benchmarks read")

// BenchmarkLookups: what a row costs who reads of a table as it was loaded and under layers of a hundredth of its rows each, by turns, in time
// of this thread: what else the machine does counts for all alike.
func BenchmarkLookups(b *testing.B) {
	const dim, turn, batch = 8, 2000, 100
	t, ids := hashed(b, *benchmarkRows, dim)
	asked := slices.Clone(ids)
	rand.Shuffle(len(asked), func(i, j int) { asked[i], asked[j] = asked[j], asked[i] })
	tables := []*Table{t}
	for n := range uint64(10) {
		some := drawn(ids, n)
		t, err := tables[n].With(len(some), rowsOf(some, dim, 2), nil)
		law.Check(b, err)
		tables = append(tables, t)
	}
	runtime.GC()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	took, w := make([][]float64, len(tables)), make([]float32, batch*dim)
	at := 0
	for range b.N {
		for _, n := range []int{0, 1, Few, 10} {
			began := threadTime(b)
			for range turn / batch {
				at = (at + batch) % (len(asked) - batch)
				tables[n].Rows(w, asked[at:at+batch], func(int) { b.Fatal("a row is lost") })
			}
			took[n] = append(took[n], float64(threadTime(b)-began)/turn)
		}
	}
	plain := quick(took[0])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(plain, "ns/plain")
	for _, n := range []int{1, Few, 10} {
		b.ReportMetric(quick(took[n])/plain, fmt.Sprintf("×plain/%d-layers", n))
	}
}

// BenchmarkDelta: what a delta of a hundredth of the rows costs, and folding all there are, in time that this process has computed and in memory.
func BenchmarkDelta(b *testing.B) {
	const dim = 8
	t, ids := hashed(b, *benchmarkRows, dim)
	some, whole := drawn(ids, 1), float64(len(ids)*(8+4*dim))
	var took, folding []float64
	bytes := 0
	for range b.N {
		next, began := t, processTime(b)
		bytes = allocated(func() {
			var err error
			if next, err = t.With(len(some), rowsOf(some, dim, 2), nil); err != nil {
				b.Fatal(err)
			}
		})
		took, began = append(took, (processTime(b)-began).Seconds()), processTime(b)
		for next.Fold(0) {
		}
		folding = append(folding, (processTime(b) - began).Seconds())
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1000*quick(took), "ms/delta")
	b.ReportMetric(100*float64(bytes)/whole, "%-of-memory/delta")
	b.ReportMetric(1000*quick(folding), "ms/fold")
}

// quick is what a quarter of turns stay below: others met more of what else the machine does.
func quick(all []float64) float64 { slices.Sort(all); return all[len(all)/4] }

// threadTime is the time that this thread has computed, processTime that of all.
func threadTime(tb testing.TB) time.Duration  { return timeOf(tb, unix.CLOCK_THREAD_CPUTIME_ID) }
func processTime(tb testing.TB) time.Duration { return timeOf(tb, unix.CLOCK_PROCESS_CPUTIME_ID) }

func timeOf(tb testing.TB, clock int32) time.Duration {
	tb.Helper()
	var now unix.Timespec
	law.Check(tb, unix.ClockGettime(clock, &now))
	return time.Duration(now.Nano())
}
