package main

import (
	"context"
	"io"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/strategy"
)

// TestClusterLearnsAsOneProcessDoes trains ten epochs on 2 servers and 2 workers, sync and async, and alone.
func TestClusterLearnsAsOneProcessDoes(t *testing.T) {
	alone := accuracy(t, 0, 1, strategy.Sync())
	if alone < 0.92 {
		t.Errorf("one process reaches %.4f on the digits held back", alone)
	}
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
		got := accuracy(t, 2, 2, s)
		t.Logf("%s: %.4f, alone: %.4f", s.Mode, got, alone)
		if math.Abs(got-alone) > 0.015 { // async differs from run to run
			t.Errorf("%s on 2×2 reaches %.4f, one process %.4f", s.Mode, got, alone)
		}
	}
}

func accuracy(t *testing.T, servers, workers int, s strategy.Strategy) (best float64) {
	var mu sync.Mutex
	fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
		a, err := run(ctx, f, config{epochs: 10, strategy: s}, io.Discard)
		mu.Lock()
		defer mu.Unlock()
		best = max(best, a)
		return err
	})
	return best
}

func TestFlags(t *testing.T) {
	c, err := parse([]string{"-epochs=3", "--mode=sync"})
	if err != nil || c.epochs != 3 || c.strategy != strategy.Sync() {
		t.Errorf("%+v, error %v", c, err)
	}
	for want, args := range map[string][]string{
		`"10" is no flag`: {"-mode=sync", "10"},
		"-epochs=0":       {"-epochs=0"},
		`"often"`:         {"-mode=often"},
		"-speed":          {"-speed=3"},
	} {
		if _, err := parse(args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", args, err, want)
		}
	}
}
