package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// shortly makes a call that ends by its context after a second, since another worker comes later.
func shortly(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("a call that ends by its context: %w", err)
	}
	return nil
}

// TestCallsAfterOneGivenUpAreTheirOwn: a worker gives up an AllReduce, to which the other comes later, and goes on to the
// next, or repeats it: no sum has values of different calls.
func TestCallsAfterOneGivenUpAreTheirOwn(t *testing.T) {
	t.Parallel()
	for _, repeats := range []bool{false, true} {
		t.Run(fmt.Sprint("repeats=", repeats), func(t *testing.T) {
			trial.Cluster(1, 2).Simulate(t, nil, trial.Counters(1, strategy.Async(),
				func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter) error {
					for i := range 4 {
						sum := func(ctx context.Context) error {
							s, err := f.AllReduce(ctx, []float64{float64(10 * i)}, fleet.Sum)
							if err == nil && s[0] != float64(20*i) {
								err = fmt.Errorf("call %d is %v", i, s)
							}
							return err
						}
						switch first := f.WorkerIndex() == 0; {
						case i == 1 && first:
							if err := shortly(ctx, sum); err != nil {
								return err
							}
							if !repeats {
								continue
							}
						case i == 1:
							time.Sleep(3 * time.Second)
						}
						if err := sum(ctx); err != nil {
							return fmt.Errorf("worker %d: %w", f.WorkerIndex(), err)
						}
					}
					return nil
				}))
		})
	}
}

// TestABarrierGivenUpIsNotTheNext: a worker gives up a barrier, and then trains or makes another call. At its next barrier
// it waits for the others.
func TestABarrierGivenUpIsNotTheNext(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(context.Context, *fleet.Fleet, *trial.Counter) error{
		"a step": func(ctx context.Context, _ *fleet.Fleet, c *trial.Counter) error { return c.Train(ctx, 1) },
		"an AllGather": func(ctx context.Context, f *fleet.Fleet, _ *trial.Counter) error {
			_, err := f.AllGather(ctx, []float64{1})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			come := make(chan struct{})
			trial.Cluster(1, 2).Simulate(t, nil, trial.Counters(1, strategy.Async(),
				func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
					if f.WorkerIndex() == 0 {
						if err := shortly(ctx, f.BarrierWorker); err != nil {
							return err
						}
						time.Sleep(5 * time.Second)
						if err := errors.Join(between(ctx, f, c), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						select {
						case <-come:
							return nil
						default:
							return errors.New("worker 0 has passed a barrier to which worker 1 has not come")
						}
					}
					time.Sleep(3 * time.Second)
					if err := errors.Join(f.BarrierWorker(ctx), between(ctx, f, c)); err != nil {
						return err
					}
					time.Sleep(10 * time.Second)
					close(come)
					return f.BarrierWorker(ctx)
				}))
		})
	}
}

// TestAGatherGivenUpBringsItsStatistics: a worker that gives up an AllGather and repeats it is at the same, also where the
// statistics of many params travel with it.
func TestAGatherGivenUpBringsItsStatistics(t *testing.T) {
	t.Parallel()
	d := apart(2)
	for i := range 8 {
		d.Shapes = append(d.Shapes, optimizer.Param{Name: fmt.Sprint("still", i), Shape: []int{2}, Frozen: true})
	}
	trial.Cluster(d.Servers, d.Workers).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		m := d.Model()
		return trial.Play(ctx, f, m, d.Rule, d.Strategy, func() error {
			for i := range 4 {
				for _, p := range d.Shapes[1:] {
					if err := set(m.Trainer, p.Name, []float32{float32(i), float32(f.WorkerIndex())}); err != nil {
						return err
					}
				}
				gather := func(ctx context.Context) error {
					all, err := f.AllGather(ctx, []float64{float64(i)})
					if err == nil && (all[0][0] != float64(i) || all[1][0] != float64(i)) {
						err = fmt.Errorf("call %d has %v", i, all)
					}
					return err
				}
				if f.WorkerIndex() == 1 {
					time.Sleep(time.Minute)
				} else if err := shortly(ctx, gather); err != nil {
					return err
				}
				if err := gather(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	})
}
