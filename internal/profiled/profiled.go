// Package profiled labels the samples of a CPU profile with the work of their goroutine: the op of a request or of a
// step, its worker, and the table.
//
//	if profiled.On() {
//		profiled.Set(ctx, "op", "step", "worker", "3", "table", "users")
//	}
//
// Goroutines are labelled only while exposition takes a profile, so that otherwise a request costs one read of a
// number. A goroutine inherits the labels of the goroutine that starts it.
package profiled

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
)

var taken atomic.Int32

// On reports whether a profile is being taken.
func On() bool { return taken.Load() > 0 }

// Take marks the beginning of a profile, and done its end.
func Take() (done func()) {
	taken.Add(1)
	return func() { taken.Add(-1) }
}

// Set replaces this goroutine's labels by those of ctx and the given ones, names and values in turn.
func Set(ctx context.Context, labels ...string) {
	if len(labels) > 0 {
		ctx = pprof.WithLabels(ctx, pprof.Labels(labels...))
	}
	pprof.SetGoroutineLabels(ctx)
}
