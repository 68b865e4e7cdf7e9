package proc

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// Go's collector waits by default until a heap has doubled, so that its work is in proportion to what is allocated. But
// memory without pointers, such as rows of tables and data, costs it nothing to keep: a server with a gigabyte of rows
// would hold a gigabyte of garbage beside them. With a headroom for each kind of memory it holds a sixteenth of that.

const (
	leastHeadroom = 32 << 20
	leastPercent  = 6
)

// headroom is how many percent of a live heap may be allocated before the next collection, given its part that may have
// pointers: as much as that part, and a sixteenth of the rest.
func headroom(live, scanned uint64) int {
	if live == 0 {
		return 100
	}
	room := scanned + max(leastHeadroom, (live-min(scanned, live))/16)
	return int(max(leastPercent, min(100, room*100/live)))
}

// collector sets the percentage behind each collection, as long as no other does.
type collector struct{ percent int }

var tuned sync.Once

// TuneCollector has the collector run when the headroom for the heap's kinds of memory is used up, for the rest of the
// process, unless the program or GOGC has set another percentage than the default, or does later.
func TuneCollector() {
	tuned.Do(func() { (&collector{percent: 100}).start() })
}

func (c *collector) start() {
	if c.own() {
		runtime.SetFinalizer(&turn{c}, (*turn).over)
	}
}

// turn becomes garbage with each collection.
type turn struct{ of *collector }

func (t *turn) over() {
	if t.of.tune() {
		runtime.SetFinalizer(t, (*turn).over)
	}
}

// own reports whether the percentage is the one that was set last.
func (c *collector) own() bool {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	return now[0].Value.Uint64() == uint64(c.percent)
}

// tune sets the percentage for the heap that the last collection has left, and reports whether it may go on to.
func (c *collector) tune() bool {
	if !c.own() {
		return false
	}
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/heap:bytes"}}
	metrics.Read(heap)
	percent := headroom(heap[0].Value.Uint64(), heap[1].Value.Uint64())
	if off := percent - c.percent; off*off > 1 { // setting it stops the program for a moment
		c.percent = percent
		debug.SetGCPercent(percent)
	}
	return true
}
