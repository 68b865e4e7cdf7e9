// Package jobtest runs example programs on clusters in tests.
package jobtest

import (
	"bytes"
	"context"
	"io"
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

// Program is what an example's run function is, when it is given what its parse function makes of the command line.
type Program[C, R any] = func(ctx context.Context, f *fleet.Fleet, c C, out io.Writer) (R, error)

// Run runs an example with these arguments on that many servers and workers (no servers: alone), and gives what it returned and
// said on worker 0. An error of any role fails t.
func Run[C, R any](
	t *testing.T, servers, workers int, args []string, parse func([]string) (C, error), run Program[C, R],
) (first R, said string) {
	t.Helper()
	c, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		var out bytes.Buffer
		got, err := run(ctx, f, c, &out)
		if f.IsFirstWorker() {
			mu.Lock()
			defer mu.Unlock()
			first, said = got, out.String()
		}
		return err
	})
	return first, said
}
