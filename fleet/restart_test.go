package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWorkerRestarts has a worker of an async job die at some moment, with pushes on their way, and come back as another
// process, under fault schedules. What it says is counted is counted once. What was on its way when it died counts once or not at
// all, on each server, and nothing of its first life once the second has joined. FLEET_SEEDS and FLEET_SEED as above.
//
// Promise: [G1] pushes count once when workers die and come back, or don't, and while checkpoints are saved
// Also: TestOthersTrainOnAfterADeath, TestSavesUnderFaults
func TestWorkerRestarts(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	lost := 0
	trial.EachSeed(t, 48, func(seed trial.Seed) {
		for _, s := range []strategy.Strategy{{}, {MaxFrame: 4096}} {
			r := restart{strategy: trial.Lossy(s), dies: int(seed.N % 3)}
			t.Run(fmt.Sprintf("%d/%d", r.strategy.MaxFrame, seed.N), func(t *testing.T) { r.on(t, seed, 2) })
			lost += r.begun - r.acked
		}
	})
	t.Logf("%d pushes were on their way when their worker died", lost)
}

// TestOthersTrainOnAfterADeath has a worker die for good under fault schedules: all servers learn of it, and the others end their
// training. In sync, servers count the same gradients of the dead but for its last: one that had everybody's when it died has
// closed that round, and another, which lacks the dead one's, closes it without.
func TestOthersTrainOnAfterADeath(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	trial.EachSeed(t, 24, func(seed trial.Seed) {
		for _, s := range trial.Some(t, []strategy.Strategy{strategy.Sync(), strategy.Async(), {Mode: strategy.ModeSync, MaxFrame: 4096}, trial.Measured}) {
			r := restart{strategy: trial.Lossy(s), dies: int(seed.N % 3), forGood: true}
			t.Run(fmt.Sprintf("%s/%d/%d", r.strategy.Mode, r.strategy.MaxFrame, seed.N), func(t *testing.T) { r.on(t, seed, 3) })
		}
	})
}

// restart is a job one of whose workers dies after some time.
type restart struct {
	strategy     strategy.Strategy
	dies         int
	after        time.Duration
	forGood      bool
	mu           sync.Mutex
	begun, acked int // steps of the first life
}

const restartWorkers, restartSteps = 3, 8

// on runs the job; a stream of random numbers says when the worker dies.
func (r *restart) on(t *testing.T, seed trial.Seed, stream uint64) {
	r.after = time.Duration(rand.New(rand.NewPCG(seed.N, stream)).Int64N(int64(300 * time.Millisecond)))
	seed.Simulate(t, restartWorkers, r.run)
}

func (r *restart) run(ctx context.Context, f *fleet.Fleet, network transport.Transport) error {
	c := trial.CounterFor(r.strategy)
	if f.WorkerIndex() != r.dies || f.IsServer() {
		err := c.Play(ctx, f, r.strategy, func() error { return r.train(ctx, f, c) })
		switch {
		case r.forGood && f.IsServer() && errors.Is(err, fleet.ErrWorkersDied):
			return nil
		case r.forGood && f.IsServer():
			return fmt.Errorf("the server ended with %v, want ErrWorkersDied", err)
		}
		return err
	}
	r.live(ctx, f, c)
	if r.forGood {
		return nil
	}
	again, err := trial.Another(f, network)
	if err != nil {
		return err
	}
	again.Pin(2)
	defer again.Close()
	c = trial.CounterFor(r.strategy)
	if err := c.Play(ctx, again, r.strategy, func() error { return r.train(ctx, again, c) }); err != nil {
		return fmt.Errorf("second life: %w", err)
	}
	return nil
}

// live is the first life, which ends where it is.
func (r *restart) live(ctx context.Context, f *fleet.Fleet, c *trial.Counter) {
	var closed sync.WaitGroup
	die := func() { <-time.After(r.after); f.Close() }
	begun := 0
	if r.forGood { // who never came is waited for
		c.Each = 4 // in a round with the dead counts 2, without it 1
		defer f.Close()
	} else {
		closed.Go(die)
	}
	if worker, _ := c.Join(ctx, f, r.strategy); worker {
		if r.forGood {
			closed.Go(die)
		}
		begun = push(ctx, c, restartSteps)
	}
	closed.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.acked = begun, int(f.Stats().Counts.Steps)
}

// push makes steps until one fails, and says how many were begun.
func push(ctx context.Context, c *trial.Counter, steps int) int {
	session, err := c.OpenSession()
	if err != nil {
		return 0
	}
	defer session.Close(ctx) // what it could not send, the barrier or the sums will tell
	for i := range steps {
		st := c.Step()
		if session.Begin(ctx, st) != nil {
			return i
		}
		if session.End(ctx, st) != nil {
			return i + 1
		}
	}
	return steps
}

// train makes all steps of a life that ends well, waits for the others, and counts.
func (r *restart) train(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
	if n := push(ctx, c, restartSteps); n != restartSteps {
		return fmt.Errorf("worker %d came to step %d of %d", f.WorkerIndex(), n, restartSteps)
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	values, err := c.Values(ctx)
	if err != nil {
		return err
	}
	least, most := r.bounds()
	for i, v := range values {
		if v < least || v > most {
			return fmt.Errorf("worker %d: value %d counts %v pushes, there were %v to %v", f.WorkerIndex(), i, v, least, most)
		}
		if d := v - values[0]; r.strategy.Mode == strategy.ModeSync && (d < -1 || d > 1) {
			return fmt.Errorf("worker %d: value %d is %v and value 0 is %v: servers differ by more than the last round of the dead", f.WorkerIndex(), i, v, values[0])
		}
	}
	return nil
}

// bounds are how often every value counts, at least and at most.
func (r *restart) bounds() (least, most float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	const workers, steps = restartWorkers, restartSteps
	switch {
	case r.strategy.Mode == strategy.ModeSync:
		return steps, 2 * steps
	case r.forGood:
		return float32((workers-1)*steps + 4*r.acked), float32((workers-1)*steps + 4*r.begun)
	}
	return float32(workers*steps + r.acked), float32(workers*steps + r.begun)
}
