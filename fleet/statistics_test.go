package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// apart is a job of which each worker computes n values of its own.
func apart(n int) trial.Drawn {
	return trial.Drawn{Servers: 2, Workers: 2, Strategy: strategy.Async(), Rule: optimizer.SGD{LR: 0.1}, Samples: 1, Steps: [][2]int{{1, 0}, {1, 0}},
		Shapes: []optimizer.Param{{Name: "w", Shape: []int{3}}, {Name: "still", Shape: []int{n}, Frozen: true}}}
}

// computes gives a worker's values.
func computes(m *trial.Pulled, n int, x float32) error {
	w := make([]float32, n)
	for i := range w {
		w[i] = x
	}
	return set(m.Trainer, "still", w)
}

// areAll compares the values that an evaluation sees.
func areAll(ctx context.Context, m *trial.Pulled, want float32) error {
	s, err := m.OpenSession()
	if err != nil {
		return err
	}
	err = errors.Join(trial.Look(ctx, s), trial.AllAre(m.List[1].W, want))
	return errors.Join(err, s.Close(ctx))
}

// TestABarrierThatIsGivenUpBringsItsStatistics: a worker gives up a barrier to which the other comes later, and calls it again: it is the
// same barrier, and both have the mean of what each has computed.
func TestABarrierThatIsGivenUpBringsItsStatistics(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, n := range []int{2, 40_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			d := apart(n)
			trial.Cluster(d.Servers, d.Workers).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				m := d.Model()
				return trial.Play(ctx, f, m, d.Rule, d.Strategy, func() error {
					for epoch := range 3 {
						x := float32(4*epoch + f.WorkerIndex())
						if err := computes(m, n, x); err != nil {
							return err
						}
						if f.WorkerIndex() == 0 {
							time.Sleep(time.Minute)
						} else {
							short, cancel := context.WithTimeout(ctx, 5*time.Second)
							defer cancel()
							if err := f.BarrierWorker(short); err == nil {
								return errors.New("a barrier without worker 0 ends well")
							}
						}
						if err := f.BarrierWorker(ctx); err != nil {
							return err
						}
						if err := areAll(ctx, m, 4*float32(epoch)+0.5); err != nil {
							return fmt.Errorf("epoch %d: %w", epoch, err)
						}
					}
					return nil
				})
			})
		})
	}
}

// TestEachWorkerGoesOnWithItsOwn: a checkpoint that is made while workers have values of their own has those of each, in
// every mode and however few bytes a message has. All have their mean at the first barrier after it.
//
// Promise: [G6] a job that goes on in the middle of an epoch has every worker's own moving averages
// Also: TestAveragesAsUndisturbed (fleet/train)
func TestEachWorkerGoesOnWithItsOwn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const steps, n = 2, 3000
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async(), "half_async": strategy.HalfAsync(),
		"geo": strategy.Geo(1), "collective": strategy.Sync(),
		"sync in pieces": {Mode: strategy.ModeSync, MaxFrame: 4*n + 700}} {
		t.Run(name, func(t *testing.T) {
			d := apart(n)
			d.Shapes[0].Shape, d.Strategy = []int{400}, s
			if d.Strategy.Recovery = (strategy.Recovery{Dir: t.TempDir()}); name == "collective" {
				d.Servers = 0
			}
			enough := errors.New("enough")
			life := func(work func(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) error) {
				synctest.Test(t, func(t *testing.T) {
					for role, err := range trial.Cluster(d.Servers, d.Workers).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
						m := d.Model()
						return trial.Play(ctx, f, m, d.Rule, d.Strategy, func() error { return work(ctx, f, m) })
					}) {
						if strings.Contains(role, "worker") && !errors.Is(err, enough) {
							t.Errorf("%s: %v", role, err)
						}
					}
				})
			}
			life(func(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) error {
				s, err := m.OpenSession()
				for i := range steps {
					st := &optimizer.Step{Samples: 1}
					err = errors.Join(err, s.Begin(ctx, st), computes(m, n, float32(10*f.WorkerIndex()+i+1)), s.End(ctx, st))
				}
				if err != nil {
					return err
				}
				if time.Sleep(time.Minute); f.WorkerIndex() == 0 {
					err = f.Checkpoint(ctx)
				}
				time.Sleep(time.Second)
				return errors.Join(err, enough)
			})
			life(func(ctx context.Context, f *fleet.Fleet, m *trial.Pulled) error {
				if _, err := f.AllGather(ctx, nil); err != nil { // changes nothing
					return err
				}
				if err := areAll(ctx, m, float32(10*f.WorkerIndex()+steps)); err != nil {
					return err
				}
				return errors.Join(f.BarrierWorker(ctx), areAll(ctx, m, 5+steps), enough)
			})
		})
	}
}

// TestBarriersOfManyStatisticsAreRepeated: a worker that is started again alone repeats its barriers, whatever was brought to them, and is
// with the others at the next.
func TestBarriersOfManyStatisticsAreRepeated(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const n = 100_000 // more than a server keeps of a collective
	d := apart(n)
	var network transport.Transport
	wrap := func(net transport.Transport) transport.Transport { network = net; return net }
	trial.Cluster(d.Servers, d.Workers).Simulate(t, wrap, func(ctx context.Context, f *fleet.Fleet) error {
		m := d.Model()
		work := func(f *fleet.Fleet, m *trial.Pulled, epochs int) error {
			for epoch := range epochs {
				if err := errors.Join(computes(m, n, float32(4*epoch+f.WorkerIndex())), f.BarrierWorker(ctx)); err != nil {
					return fmt.Errorf("barrier %d: %w", epoch, err)
				}
			}
			return nil
		}
		if f.WorkerIndex() != 1 {
			return trial.Play(ctx, f, m, d.Rule, d.Strategy, func() error {
				return errors.Join(work(f, m, 4), areAll(ctx, m, 12.5))
			})
		}
		first, err := trial.Another(f, network)
		if err == nil {
			_, err = trial.Join(ctx, first, m, d.Rule, d.Strategy)
		}
		if err == nil {
			err = work(first, m, 3)
		}
		if err != nil {
			return err
		}
		first.Close()
		second, err := trial.Another(f, network)
		if err != nil {
			return err
		}
		m = d.Model()
		return trial.Play(ctx, second, m, d.Rule, d.Strategy, func() error {
			return errors.Join(work(second, m, 4), areAll(ctx, m, 12.5))
		})
	})
}
