package proc

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
)

func TestHeadroom(t *testing.T) {
	const mb = 1 << 20
	for _, c := range []struct {
		live, scanned uint64
		want          int
	}{
		{0, 0, 100}, {4 * mb, 4 * mb, 100}, {30 * mb, 0, 100}, {320 * mb, 0, 10}, {640 * mb, 0, 6}, {6400 * mb, 0, 6},
		{1000 * mb, 1000 * mb, 100}, {1000 * mb, 500 * mb, 53}, {1000 * mb, 2000 * mb, 100},
	} {
		if got := headroom(c.live, c.scanned); got != c.want {
			t.Errorf("%d live bytes, %d scanned: %d %%, want %d", c.live, c.scanned, got, c.want)
		}
	}
}

// TestTuneCollector: with much memory without pointers the collector runs early, until the program sets a percentage of its own.
func TestTuneCollector(t *testing.T) {
	// Serial: the percentage is of the process.
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	(&collector{percent: 100}).start()
	rows := make([]float32, 64<<20)
	percent := func(reached func(int) bool) (last int) {
		for range 500 {
			runtime.GC()
			runtime.Gosched()
			now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
			metrics.Read(now)
			if last = int(now[0].Value.Uint64()); reached(last) {
				break
			}
		}
		return last
	}
	if got := percent(func(p int) bool { return p < 20 }); got >= 20 || got < leastPercent {
		t.Errorf("with 256 MB of rows the collector waits for %d %% more", got)
	}
	runtime.KeepAlive(rows)
	debug.SetGCPercent(50)
	times := 0
	if got := percent(func(int) bool { times++; return times == 20 }); got != 50 {
		t.Errorf("the program has set 50 %%, and it is %d", got)
	}
}
