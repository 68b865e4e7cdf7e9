// Package jobtest runs example programs on clusters in tests.
package jobtest

import (
	"bytes"
	"context"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/strategy"
)

// ModeArgs are the flags that choose a mode, with others that it needs in geo, where workers train by plain gradient descent and
// meet seldom.
func ModeArgs(mode strategy.Mode, inGeo ...string) []string {
	args := []string{"-mode=" + string(mode)}
	if mode == strategy.ModeGeo {
		args = append(args, inGeo...)
	}
	return args
}

// First runs a program on that many servers and workers (no servers: alone) and gives what it returned and said on worker 0. An
// error of any role fails t.
func First[T any](t *testing.T, servers, workers int, program func(ctx context.Context, f *fleet.Fleet, out *bytes.Buffer) (T, error)) (first T, said string) {
	t.Helper()
	var mu sync.Mutex
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		var out bytes.Buffer
		got, err := program(ctx, f, &out)
		if f.IsFirstWorker() {
			mu.Lock()
			defer mu.Unlock()
			first, said = got, out.String()
		}
		return err
	})
	return first, said
}
