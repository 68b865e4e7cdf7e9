package fleet_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// counter is an objective whose every step adds one to every weight and row it touches, so that weights count pushes.
type counter struct {
	w, rows *optimizer.Param
	trainer optimizer.Trainer
}

func newCounter() *counter {
	return &counter{
		w:    &optimizer.Param{Name: "w", Shape: []int{5}, W: make([]float32, 5), G: []float32{-1, -1, -1, -1, -1}},
		rows: &optimizer.Param{Name: "rows", Shape: []int{0, 2}, Embedding: true},
	}
}

func (c *counter) Params() []*optimizer.Param { return []*optimizer.Param{c.w, c.rows} }
func (c *counter) Bind(t optimizer.Trainer)   { c.trainer = t }

func (c *counter) step(eval bool) *optimizer.Step {
	ids := []uint64{1, 7, 1 << 40}
	return &optimizer.Step{Samples: 1, Eval: eval, Rows: []optimizer.Rows{{Param: c.rows, IDs: ids, W: make([]float32, 6), G: []float32{-1, -1, -1, -1, -1, -1}, Next: ids}}}
}

// TestEveryPushCountsOnce loses, repeats, delays and reorders messages by seed: afterwards the sums are exact.
func TestEveryPushCountsOnce(t *testing.T) {
	const steps, workers = 8, 3
	faults := transporttest.Faults{LoseRequest: 0.05, LoseAnswer: 0.1, Duplicate: 0.1, Late: 0.1, Reorder: 0.05}
	for seed := range uint64(6) {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
			t.Run(fmt.Sprintf("%s/%d", s.Mode, seed), func(t *testing.T) {
				// A round of sync averages its workers' gradients, so it counts once.
				want := float32(steps)
				if s.Mode == strategy.ModeAsync {
					want *= workers
				}
				faults := faults
				if s.Mode == strategy.ModeSync {
					faults.Late = 0 // a late push waits for its round in front of the call that would close it
				}
				network := transporttest.NewFaulty(transport.NewMemory(), seed, faults)
				cluster := fleettest.Cluster{Servers: 2, Workers: workers, Options: fleet.Options{Transport: network}}
				cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error { return count(ctx, f, s, steps, want) })
				if t.Failed() {
					t.Logf("faults: %v", network.Counts())
				}
			})
		}
	}
}

func count(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, steps int, want float32) error {
	c := newCounter()
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 1}, s)
	if err != nil {
		return err
	}
	if err := opt.Minimize(c); err != nil {
		return err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return err
		}
		return f.RunServer(ctx)
	}
	if err := f.InitWorker(ctx); err != nil {
		return err
	}
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	for range steps {
		st := c.step(false)
		if err := session.Begin(ctx, st); err != nil {
			return err
		}
		if err := session.End(ctx, st); err != nil {
			return err
		}
	}
	if err := c.trainer.EndEpoch(ctx); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	st := c.step(true)
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	for i, w := range append(append([]float32(nil), c.w.W...), st.Rows[0].W...) {
		if w != want {
			return fmt.Errorf("worker %d: value %d counts %v pushes, there were %v", f.WorkerIndex(), i, w, want)
		}
	}
	if err := session.Close(ctx); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}
