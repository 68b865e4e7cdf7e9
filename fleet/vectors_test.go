package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestVectorsOfTheOriginal has two workers make one step by gradient descent of rate 0.1, with gradients of 0.2 and 0.4 of a
// weight of 1, and 0.4 of a row that only worker 1 touches: the numbers of the original's modes, and ours where batches differ in
// size.
//
// Promise: [G2] whole clusters fold gradients in worker order, weighted by samples, as the original does
func TestVectorsOfTheOriginal(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
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
	one := optimizer.Constant{Value: 1}
	w, rows := trial.Dense("w", one, 1), trial.Embedding("rows", one, 9, 1)
	o := &trial.Objective{List: []*optimizer.Param{w, rows}}
	return trial.Play(ctx, f, o, optimizer.SGD{LR: 0.1}, s, func() error {
		session, err := o.OpenSession()
		if err != nil {
			return err
		}
		touched := trial.RowsOf(rows, [2][]uint64{{}, {7}}[f.WorkerIndex()])
		st := &optimizer.Step{Samples: samples[f.WorkerIndex()], Rows: []optimizer.Rows{touched}}
		err = trial.Step(ctx, session, st, func() {
			w.G[0] = [2]float32{0.2, 0.4}[f.WorkerIndex()]
			copy(touched.G, []float32{0.4})
		})
		if err := errors.Join(err, f.BarrierWorker(ctx)); err != nil {
			return err
		}
		row := trial.RowsOf(rows, []uint64{7})
		if err := trial.Look(ctx, session, row); err != nil {
			return err
		}
		if got := [2]float64{float64(w.W[0]), float64(row.W[0])}; math.Abs(got[0]-want[0]) > 1e-6 || math.Abs(got[1]-want[1]) > 1e-6 {
			return fmt.Errorf("weight and row are %v, want %v", got, want)
		}
		return nil
	})
}
