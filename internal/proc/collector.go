package proc

import (
	"math"
	"runtime/debug"
)

// LimitCollector sets the garbage collector's memory limit from that of the control group, unless a limit is set
// already. Without one the system could kill the process while most of its memory is garbage. It returns the limit in
// bytes, 0 if it has set none.
func LimitCollector() int64 {
	limit := collectorLimit(debug.SetMemoryLimit(-1), MemoryLimit())
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// collectorLimit returns the collector's limit for those of the runtime and of the group. It leaves a tenth for memory
// outside the heap, and for other processes of the group.
func collectorLimit(runtime, group int64) int64 {
	if group <= 0 || runtime != math.MaxInt64 {
		return 0
	}
	return group / 10 * 9
}
