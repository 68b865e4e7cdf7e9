package fleet_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestPushesShowLifeWhereAConnectionBroke: a worker whose connections break, and whose heartbeats are lost for 3 s while
// it pushes all the time, is in the job.
func TestPushesShowLifeWhereAConnectionBroke(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var from time.Time // heartbeats are lost, 2 s after the first
	lost, pushed := 0, 0
	wrap := func(net transport.Transport) transport.Transport {
		return &trial.Tap{Transport: breaks(net), Before: func(endpoint string, req [][]byte) error {
			_, frame, found := bytes.Cut(bytes.Join(req, nil), []byte("gfl1"))
			if !found || endpoint != "server-0:1" {
				return nil
			}
			h, err := wire.ParseHeader(append([]byte("gfl1"), frame...))
			if err != nil || h.Worker != 1 {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if h.Op == wire.OpHeartbeat && from.IsZero() {
				from = time.Now().Add(2 * time.Second)
			}
			switch now := time.Now(); {
			case from.IsZero() || now.Before(from) || now.Sub(from) >= 3*time.Second:
			case h.Op == wire.OpHeartbeat:
				lost++
				return trial.ErrPulled
			case h.Op == wire.OpStep:
				pushed++
			}
			return nil
		}}
	}
	trial.Cluster(1, 2).Simulate(t, wrap, trial.Counters(1, strategy.Sync(),
		func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			for i := range 100 {
				if err := c.Train(ctx, 1); err != nil {
					return fmt.Errorf("step %d: %w", i, err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			return nil
		}))
	if lost < 2 || pushed < 20 {
		t.Errorf("%d heartbeats were lost beside %d pushes: the test shows nothing", lost, pushed)
	}
}
