package fleet_test

import (
	"context"
	"fmt"
	"slices"
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

func newCounter(n int) *counter {
	return &counter{
		w:    &optimizer.Param{Name: "w", Shape: []int{n}, W: make([]float32, n), G: slices.Repeat([]float32{-1}, n)},
		rows: &optimizer.Param{Name: "rows", Shape: []int{0, 2}, Embedding: true},
	}
}

func (c *counter) Params() []*optimizer.Param { return []*optimizer.Param{c.w, c.rows} }
func (c *counter) Bind(t optimizer.Trainer)   { c.trainer = t }

func (c *counter) step(eval bool) *optimizer.Step {
	ids := make([]uint64, len(c.w.W))
	for i := range ids {
		ids[i] = uint64(i) << 32
	}
	n := 2 * len(ids)
	return &optimizer.Step{Samples: 1, Eval: eval, Rows: []optimizer.Rows{{Param: c.rows, IDs: ids, W: make([]float32, n), G: slices.Repeat([]float32{-1}, n), Next: ids}}}
}

// TestEveryPushCountsOnce loses, repeats, delays, reorders and damages messages by seed: afterwards the sums are exact.
func TestEveryPushCountsOnce(t *testing.T) {
	const steps, workers = 8, 3
	faults := transporttest.Faults{LoseRequest: 0.05, LoseAnswer: 0.1, Duplicate: 0.1, Late: 0.1, Reorder: 0.05, Corrupt: 0.03, Cut: 0.03}
	for seed := range uint64(6) {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), {Mode: strategy.ModeSync, MaxFrame: 4096}, {MaxFrame: 4096}} {
			s = s.WithDefaults()
			t.Run(fmt.Sprintf("%s/%d/%d", s.Mode, s.MaxFrame, seed), func(t *testing.T) {
				// A round of sync averages its workers' gradients, so it counts once.
				want := float32(steps)
				if s.Mode == strategy.ModeAsync {
					want *= workers
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
	n := 5
	if s.MaxFrame < strategy.DefaultMaxFrame {
		n = s.MaxFrame / 2 // weights and rows that take several frames
	}
	c := newCounter(n)
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
