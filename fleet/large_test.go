package fleet_test

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestGiantVariable trains a variable of 3 GiB over loopback TCP. It takes 10 GiB of memory and runs when FLEET_LONG is set.
func TestGiantVariable(t *testing.T) {
	// Serial: it takes 10 GiB of memory.
	if os.Getenv("FLEET_LONG") == "" {
		t.Skip("set FLEET_LONG=1: this takes 10 GiB of memory and half a minute")
	}
	const n = 3 << 28 // floats
	defer debug.FreeOSMemory()
	c := fleettest.Cluster{Servers: 1, Workers: 1, Endpoints: porttest.Free(t, 1), Options: fleet.Options{Transport: &transport.FastHTTP{}}}
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		w := &optimizer.Param{Name: "w", Shape: []int{n}}
		w.W, w.G = make([]float32, n), make([]float32, n) // a server never touches its pages
		for i := range w.W {
			if f.IsServer() {
				break
			}
			w.W[i], w.G[i] = float32(i%7), 1
		}
		o := &trial.Objective{List: []*optimizer.Param{w}}
		return trial.Play(ctx, f, o, optimizer.SGD{LR: 0.5}, strategy.Sync(), func() error {
			session, err := o.OpenSession()
			if err != nil {
				return err
			}
			for step := range 2 {
				start := time.Now()
				if err := trial.Step(ctx, session, &optimizer.Step{Samples: 1}, nil); err != nil {
					return err
				}
				t.Logf("step %d: pushed and pulled 3 GiB in %v", step, time.Since(start).Round(time.Millisecond))
			}
			if err := session.Begin(ctx, &optimizer.Step{Samples: 1}); err != nil {
				return err
			}
			for i, v := range w.W {
				if v != float32(i%7)-1 {
					return fmt.Errorf("weight %d is %v, want %v", i, v, float32(i%7)-1)
				}
			}
			return session.Close(ctx)
		})
	})
}
