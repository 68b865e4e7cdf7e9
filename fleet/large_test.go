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
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// giant is an objective of one dense variable of 3 GiB, whose gradient is one everywhere.
type giant struct {
	w       *optimizer.Param
	trainer optimizer.Trainer
}

func (g *giant) Params() []*optimizer.Param { return []*optimizer.Param{g.w} }
func (g *giant) Bind(t optimizer.Trainer)   { g.trainer = t }

// TestGiantVariable trains a variable of 3 GiB over loopback TCP. It takes 10 GiB of memory and runs when FLEET_LONG is set.
func TestGiantVariable(t *testing.T) {
	if os.Getenv("FLEET_LONG") == "" {
		t.Skip("set FLEET_LONG=1: this takes 10 GiB of memory and half a minute")
	}
	const n = 3 << 28 // floats
	defer debug.FreeOSMemory()
	c := fleettest.Cluster{Servers: 1, Workers: 1, Endpoints: freePorts(t, 1), Options: fleet.Options{Transport: &transport.FastHTTP{}}}
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		o := &giant{w: &optimizer.Param{Name: "w", Shape: []int{n}}}
		o.w.W, o.w.G = make([]float32, n), make([]float32, n) // a server never touches its pages
		opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.5}, strategy.Sync())
		if err != nil {
			return err
		}
		if err := opt.Minimize(o); err != nil {
			return err
		}
		if f.IsServer() {
			if err := f.InitServer(ctx, ""); err != nil {
				return err
			}
			return f.RunServer(ctx)
		}
		for i := range o.w.W {
			o.w.W[i], o.w.G[i] = float32(i%7), 1
		}
		if err := f.InitWorker(ctx); err != nil {
			return err
		}
		session, err := o.trainer.Open(o.Params())
		if err != nil {
			return err
		}
		st := &optimizer.Step{Samples: 1}
		for step := range 2 {
			start := time.Now()
			if err := session.Begin(ctx, st); err != nil {
				return err
			}
			if err := session.End(ctx, st); err != nil {
				return err
			}
			t.Logf("step %d: pushed and pulled 3 GiB in %v", step, time.Since(start).Round(time.Millisecond))
		}
		if err := session.Begin(ctx, st); err != nil {
			return err
		}
		for i, w := range o.w.W {
			if w != float32(i%7)-1 {
				return fmt.Errorf("weight %d is %v, want %v", i, w, float32(i%7)-1)
			}
		}
		if err := session.Close(ctx); err != nil {
			return err
		}
		return f.StopWorker(ctx)
	})
}
