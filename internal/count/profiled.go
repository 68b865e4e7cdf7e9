package count

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
)

var taken atomic.Int32

// Profiling reports whether a profile is being taken: only then goroutines are labelled, so that otherwise a request
// costs one read of a number.
func Profiling() bool { return taken.Load() > 0 }

// TakeProfile marks the beginning of a profile, and done its end.
func TakeProfile() (done func()) {
	taken.Add(1)
	return func() { taken.Add(-1) }
}

// Label replaces this goroutine's labels, by which a profile tells its samples, by those of ctx and the given ones,
// names and values in turn: the op of a request or of a step, its worker, the table. A goroutine inherits the labels
// of the goroutine that starts it.
func Label(ctx context.Context, labels ...string) {
	if len(labels) > 0 {
		ctx = pprof.WithLabels(ctx, pprof.Labels(labels...))
	}
	pprof.SetGoroutineLabels(ctx)
}
