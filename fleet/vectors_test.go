package fleet_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestVectorsOfTheOriginal has two workers make one step by gradient descent of rate 0.1, with gradients of 0.2 and 0.4 of a weight
// of 1, and 0.4 of a row that only worker 1 touches: the numbers of the original's modes, and ours where batches differ in size.
func TestVectorsOfTheOriginal(t *testing.T) {
	sync := func(w strategy.Weighting) strategy.Strategy {
		return strategy.Strategy{Mode: strategy.ModeSync, Weighting: w}
	}
	for _, c := range []struct {
		s       strategy.Strategy
		samples [2]int
		w, row  float64
	}{
		{sync(""), [2]int{10, 10}, 0.97, 0.98},
		{sync(""), [2]int{30, 10}, 0.975, 0.99},
		{sync(strategy.WeightEqual), [2]int{10, 10}, 0.97, 0.98},
		{sync(strategy.WeightEqual), [2]int{30, 10}, 0.97, 0.98},
		{sync(strategy.WeightPushes), [2]int{10, 10}, 0.97, 0.96},
		{sync(strategy.WeightPushes), [2]int{30, 10}, 0.97, 0.96},
		{strategy.Async(), [2]int{10, 10}, 0.94, 0.96},
		{strategy.HalfAsync(), [2]int{30, 10}, 0.94, 0.96},
		{strategy.SSP(0), [2]int{30, 10}, 0.94, 0.96},
	} {
		for _, servers := range []int{0, 1, 2} {
			if servers == 0 && c.s.Mode != strategy.ModeSync {
				continue // which workers without servers can't train in
			}
			t.Run(fmt.Sprintf("%s %s %d, %d servers", c.s.Mode, c.s.Weighting, c.samples[0], servers), func(t *testing.T) {
				fleettest.Run(t, servers, 2, func(ctx context.Context, f *fleet.Fleet) error {
					return vector(ctx, f, c.s, c.samples, [2]float64{c.w, c.row})
				})
			})
		}
	}
}

// vector is the program of a role that makes that step and compares.
func vector(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, samples [2]int, want [2]float64) error {
	c := &counter{
		w:    &optimizer.Param{Name: "w", Shape: []int{1}, W: []float32{1}, G: make([]float32, 1), Init: optimizer.Constant{Value: 1}},
		rows: &optimizer.Param{Name: "rows", Shape: []int{9, 1}, Embedding: true, Init: optimizer.Constant{Value: 1}},
	}
	opt, err := f.DistributedOptimizer(optimizer.SGD{LR: 0.1}, s)
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
	step := func(ids []uint64, eval bool) (row []float32, err error) {
		row = make([]float32, len(ids))
		st := &optimizer.Step{Samples: samples[f.WorkerIndex()], Eval: eval, Rows: []optimizer.Rows{{Param: c.rows, IDs: ids, W: row, G: []float32{0.4}[:len(ids)]}}}
		if err := session.Begin(ctx, st); err != nil {
			return nil, err
		}
		row = append([]float32{}, row...)
		c.w.G[0] = [2]float32{0.2, 0.4}[f.WorkerIndex()]
		return row, session.End(ctx, st)
	}
	ids := [2][]uint64{{}, {7}}
	if _, err := step(ids[f.WorkerIndex()], false); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	row, err := step([]uint64{7}, true)
	if err != nil {
		return err
	}
	if got := [2]float64{float64(c.w.W[0]), float64(row[0])}; math.Abs(got[0]-want[0]) > 1e-6 || math.Abs(got[1]-want[1]) > 1e-6 {
		return fmt.Errorf("weight and row are %v, want %v", got, want)
	}
	return f.StopWorker(ctx)
}
