package cgroup

import (
	"math"
	"runtime/debug"
)

// LimitCollector has the garbage collector keep to what the control group allows, unless somebody has set a limit:
// beyond it the process would be killed with most of its memory garbage. It returns the limit that it has set, 0 for
// none.
func LimitCollector() int64 {
	limit := collectorLimit(debug.SetMemoryLimit(-1), MemoryLimit())
	if limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	return limit
}

// collectorLimit takes the limits of the runtime and of the group. A tenth is for what is no heap, and for other
// processes of the group.
func collectorLimit(runtime, group int64) int64 {
	if group <= 0 || runtime != math.MaxInt64 {
		return 0
	}
	return group / 10 * 9
}
