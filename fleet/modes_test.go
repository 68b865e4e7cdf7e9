package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestModesWithoutRoundsCountEveryPush trains with every choice of the modes in which each push is an update: with plain
// gradient descent and sums, the weights count the steps of all workers whatever was merged or overtaken.
func TestModesWithoutRoundsCountEveryPush(t *testing.T) {
	const steps, workers = 30, 3
	for name, s := range map[string]strategy.Strategy{
		"async":          strategy.Async(),
		"merged":         {MaxMergeVarNum: 8, SendQueueSize: 3},
		"merged, slowly": {MaxMergeVarNum: 4, SendWaitTimes: 1},
		"many requests":  {ThreadPoolSize: 3, SendQueueSize: 8},
		"own receiver":   {IndependentRecvThread: true, MinSendGradNumBeforeRecv: 3},
		"seldom":         {MinSendGradNumBeforeRecv: 7},
		"half async":     strategy.HalfAsync(),
		"in step":        strategy.SSP(0),
		"stale":          strategy.SSP(4),
	} {
		t.Run(name, func(t *testing.T) {
			fleettest.Run(t, 2, workers, func(ctx context.Context, f *fleet.Fleet) error {
				return count(ctx, f, s.WithDefaults(), steps, steps*workers)
			})
		})
	}
}

// join makes f train the counter: a worker gets its trainer, a server serves until the job is over and gets none.
func (c *counter) join(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) (optimizer.Trainer, error) {
	opt, err := f.DistributedOptimizer(counting(s), s)
	if err != nil {
		return nil, err
	}
	if err := opt.Minimize(c); err != nil {
		return nil, err
	}
	if f.IsServer() {
		if err := f.InitServer(ctx, ""); err != nil {
			return nil, err
		}
		return nil, f.RunServer(ctx)
	}
	return c.trainer, f.InitWorker(ctx)
}

// TestStaleness lets worker 1 dawdle and watches how far worker 0 gets ahead.
func TestStaleness(t *testing.T) {
	const steps = 12
	for _, bound := range []int{0, 3} {
		t.Run(fmt.Sprint(bound), func(t *testing.T) {
			var ended [2]atomic.Int64
			var farthest atomic.Int64
			fleettest.Cluster{Servers: 2, Workers: 2}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				c := newCounter(3)
				trainer, err := c.join(ctx, f, strategy.SSP(bound))
				if err != nil || trainer == nil {
					return err
				}
				session, err := trainer.Open(c.Params())
				if err != nil {
					return err
				}
				w := f.WorkerIndex()
				for range steps {
					st := c.step(false)
					if err := session.Begin(ctx, st); err != nil {
						return err
					}
					if ahead := ended[0].Load() - ended[1].Load(); w == 0 && ahead > farthest.Load() {
						farthest.Store(ahead)
					}
					if w == 1 {
						time.Sleep(time.Millisecond) // of virtual time: the test needs no more than that it is slower
					}
					if err := session.End(ctx, st); err != nil {
						return err
					}
					ended[w].Add(1)
				}
				if err := trainer.EndEpoch(ctx); err != nil {
					return err
				}
				return f.StopWorker(ctx)
			})
			// The servers know of an ended step a moment before this test does.
			if got := farthest.Load(); got > int64(bound)+1 || got < min(int64(bound), 1) {
				t.Errorf("worker 0 was %d steps ahead, the bound is %d", got, bound)
			}
		})
	}
}

// TestThreadsMeet trains with two threads a worker in mode half_async: their gradients are averaged into one push, so a step of
// both counts once, and both go on with the same weights.
func TestThreadsMeet(t *testing.T) {
	const steps, workers = 10, 2
	for merge, want := range map[strategy.Merge]float32{strategy.MergeMean: steps * workers, strategy.MergeSum: 2 * steps * workers} {
		t.Run(string(merge), func(t *testing.T) {
			s := strategy.HalfAsync()
			s.Merge = merge
			fleettest.Run(t, 2, workers, func(ctx context.Context, f *fleet.Fleet) error {
				first := newCounter(4)
				trainer, err := first.join(ctx, f, s)
				if err != nil || trainer == nil {
					return err
				}
				threads := []*counter{first, newCounter(4)}
				errs, sessions := make([]error, len(threads)), make([]optimizer.Session, len(threads))
				for i, c := range threads {
					if sessions[i], err = trainer.Open(c.Params()); err != nil {
						return err
					}
				}
				var wg, begun sync.WaitGroup
				begun.Add(len(threads))
				for i, c := range threads {
					begin := sync.OnceFunc(func() { begun.Done(); begun.Wait() }) // one that has not begun a step is not waited for
					wg.Go(func() { errs[i] = c.threadFrom(ctx, sessions[i], steps, begin) })
				}
				wg.Wait()
				for _, err := range errs {
					if err != nil {
						return err
					}
				}
				if err := f.BarrierWorker(ctx); err != nil {
					return err
				}
				session, err := trainer.Open(first.Params())
				if err != nil {
					return err
				}
				st := first.step(true)
				if err := session.Begin(ctx, st); err != nil {
					return err
				}
				for _, w := range append(st.Rows[0].W, first.w.W...) {
					if w != want {
						return fmt.Errorf("a weight is %v, want %v", w, want)
					}
				}
				return f.StopWorker(ctx)
			})
		})
	}
}

func (c *counter) thread(ctx context.Context, session optimizer.Session, steps int) error {
	return c.threadFrom(ctx, session, steps, func() {})
}

// threadFrom makes steps, and calls begun when it has begun one.
func (c *counter) threadFrom(ctx context.Context, session optimizer.Session, steps int, begun func()) error {
	for range steps {
		st := c.step(false)
		err := session.Begin(ctx, st)
		begun()
		if err != nil {
			return err
		}
		if err := session.End(ctx, st); err != nil {
			return err
		}
	}
	return session.Close(ctx)
}

// TestGeoSumsUnderFaults has two workers count steps on their copies while the network loses, repeats and reorders messages:
// halves of whole numbers are exact, so the servers come to the exact sum.
func TestGeoSumsUnderFaults(t *testing.T) {
	const steps, workers = 20, 2
	first, end := seeds(t, 8)
	met := map[string]int{}
	for seed := first; seed < end; seed++ {
		for _, frame := range []int{0, 4096} {
			t.Run(fmt.Sprintf("%d/%d", frame, seed), func(t *testing.T) {
				s := strategy.Geo(3)
				s.MaxFrame = frame
				underFaults(t, seed, workers, met, func(ctx context.Context, f *fleet.Fleet, _ transport.Transport) error {
					return count(ctx, f, patient(s), steps, steps*workers)
				})
			})
		}
	}
	report(t, end-first, met)
}
