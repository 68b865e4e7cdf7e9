package fleet_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// scales are a network that weighs every message, with the largest request and the largest answer.
func scales() (net transport.Transport, request, answer *atomic.Int64) {
	request, answer = new(atomic.Int64), new(atomic.Int64)
	heavier := func(most *atomic.Int64, n int) {
		for old := most.Load(); int64(n) > old && !most.CompareAndSwap(old, int64(n)); old = most.Load() {
		}
	}
	return &trial.Tap{Transport: transport.NewMemory(),
		Before: func(_ string, req [][]byte) error { heavier(request, trial.Size(req)); return nil },
		Answer: func(body []byte) { heavier(answer, len(body)) },
	}, request, answer
}

// TestMaxFrame trains a model whose steps are far larger than MaxFrame, in every mode: no message is.
func TestMaxFrame(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const most = 8192
	for _, mode := range strategy.Modes() {
		t.Run(string(mode), func(t *testing.T) {
			net, request, answer := scales()
			c := fleettest.Cluster{Servers: 2, Workers: 2, Options: fleet.Options{Transport: net}}
			steps := 3
			if mode == strategy.ModeGeo {
				steps = 60 // whose rows are exchanged together
			}
			trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Strategy{Mode: mode, MaxFrame: most}, To: steps, Ahead: true}.On(t, c)
			for what, n := range map[string]int64{"request": request.Load(), "answer": answer.Load()} {
				if n > most || n < most/2 {
					t.Errorf("the largest %s has %d bytes, the bound is %d", what, n, most)
				}
			}
		})
	}
}

// TestCodec pushes gradients that are all alike: every codec makes little of them, and none leaves them as they are.
func TestCodec(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const n = 10_000
	for _, servers := range []int{0, 1} {
		for _, codec := range []string{"none", "s2", "zstd", "gzip"} {
			t.Run(fmt.Sprintf("%s, %d servers", codec, servers), func(t *testing.T) {
				net, request, _ := scales()
				c := fleettest.Cluster{Servers: servers, Workers: 2, Options: fleet.Options{Transport: net}}
				c.Run(t, trial.Counters(n, strategy.Strategy{Mode: strategy.ModeSync, Codec: codec}, func(ctx context.Context, _ *fleet.Fleet, counter *trial.Counter) error {
					return counter.Train(ctx, 2)
				}))
				small := request.Load() < n/2
				if want := codec != "none"; small != want {
					t.Errorf("the largest request has %d bytes, for %d numbers", request.Load(), n)
				}
			})
		}
	}
}
