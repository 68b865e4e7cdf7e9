// Package profiled has the samples of a CPU profile say what a goroutine works on, as labels: the op of a request or of
// a step, the worker it is of, and the table.
//
//	if profiled.On() {
//		profiled.Set(ctx, "op", "step", "worker", "3", "table", "users")
//	}
//
// Goroutines are labelled while exposition takes a profile, so that a request costs a look at a number otherwise. A
// goroutine that is started by one that is labelled has its labels too.
package profiled

import (
	"context"
	"runtime/pprof"
	"sync/atomic"
)

var taken atomic.Int32

// On says whether a profile is being taken.
func On() bool { return taken.Load() > 0 }

// Take begins one, until it is called done.
func Take() (done func()) {
	taken.Add(1)
	return func() { taken.Add(-1) }
}

// Set gives this goroutine the labels of ctx and these, names and values in turn, in the place of those it had.
func Set(ctx context.Context, labels ...string) {
	if len(labels) > 0 {
		ctx = pprof.WithLabels(ctx, pprof.Labels(labels...))
	}
	pprof.SetGoroutineLabels(ctx)
}
