package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWorkerRestarts has a worker of an async job die at some moment, with pushes on their way, and come back as another
// process, under fault schedules. What it says is counted is counted once. What was on its way when it died counts once or not at
// all, on each server, and nothing of its first life once the second has joined. FLEET_SEEDS and FLEET_SEED as above.
func TestWorkerRestarts(t *testing.T) {
	first, end := seeds(t, 48)
	met := map[string]int{}
	lost := 0
	for seed := first; seed < end; seed++ {
		for _, s := range []strategy.Strategy{{}, {MaxFrame: 4096}} {
			s = patient(s)
			t.Run(fmt.Sprintf("%d/%d", s.MaxFrame, seed), func(t *testing.T) {
				r := restart{strategy: s, steps: 8, workers: 3, dies: int(seed % 3)}
				r.after = time.Duration(rand.New(rand.NewPCG(seed, 2)).Int64N(int64(300 * time.Millisecond)))
				underFaults(t, seed, r.workers, met, r.run)
				lost += r.begun - r.acked
			})
		}
	}
	report(t, end-first, met)
	t.Logf("%d pushes were on their way when their worker died", lost)
}

// TestTheOthersGoOn has a worker die for good under fault schedules: all servers learn of it, and the others end their
// training. In sync, servers count the same gradients of the dead but for its last: one that had everybody's when it died has
// closed that round, and another, which lacks the dead one's, closes it without.
func TestTheOthersGoOn(t *testing.T) {
	first, end := seeds(t, 24)
	met := map[string]int{}
	for seed := first; seed < end; seed++ {
		for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async(), {Mode: strategy.ModeSync, MaxFrame: 4096}, measured} {
			s = patient(s)
			t.Run(fmt.Sprintf("%s/%d/%d", s.Mode, s.MaxFrame, seed), func(t *testing.T) {
				r := restart{strategy: s, steps: 8, workers: 3, dies: int(seed % 3), forGood: true}
				r.after = time.Duration(rand.New(rand.NewPCG(seed, 3)).Int64N(int64(300 * time.Millisecond)))
				underFaults(t, seed, r.workers, met, r.run)
			})
		}
	}
	report(t, end-first, met)
}

// restart is a job one of whose workers dies after some time.
type restart struct {
	strategy             strategy.Strategy
	steps, workers, dies int
	after                time.Duration
	forGood              bool
	mu                   sync.Mutex
	begun, acked         int // steps of the first life
}

func (r *restart) run(ctx context.Context, f *fleet.Fleet, network transport.Transport) error {
	c := newCounter(frameFloats(r.strategy))
	if f.WorkerIndex() != r.dies || f.IsServer() {
		trainer, err := c.join(ctx, f, r.strategy)
		switch {
		case r.forGood && f.IsServer() && errors.Is(err, fleet.ErrWorkersDied):
			return nil
		case r.forGood && f.IsServer():
			return fmt.Errorf("the server ended with %v, want ErrWorkersDied", err)
		case err != nil || trainer == nil:
			return err
		}
		return r.train(ctx, f, c)
	}
	r.live(ctx, f, c)
	if r.forGood {
		return nil
	}
	role := rolemaker.UserDefined{CurrentID: r.dies, Role: rolemaker.Worker, WorkerNum: f.WorkerNum(), ServerEndpoints: f.ServerEndpoints()}
	again, err := fleet.New(role, fleet.Options{Transport: network})
	if err != nil {
		return err
	}
	again.Pin(2)
	defer again.Close()
	c = newCounter(frameFloats(r.strategy))
	if _, err := c.join(ctx, again, r.strategy); err != nil {
		return fmt.Errorf("second life: %w", err)
	}
	return r.train(ctx, again, c)
}

// live is the first life, which ends where it is.
func (r *restart) live(ctx context.Context, f *fleet.Fleet, c *counter) {
	var closed sync.WaitGroup
	die := func() { <-time.After(r.after); f.Close() }
	begun := 0
	if r.forGood { // who never came is waited for
		c.w.G = slices.Repeat([]float32{-4}, len(c.w.G)) // in a round with the dead counts 2, without it 1
		defer f.Close()
	} else {
		closed.Go(die)
	}
	if trainer, err := c.join(ctx, f, r.strategy); err == nil {
		if r.forGood {
			closed.Go(die)
		}
		begun = push(ctx, trainer, c, r.steps)
	}
	closed.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun, r.acked = begun, int(f.Counts().Steps)
}

// push makes steps until one fails, and says how many were begun.
func push(ctx context.Context, trainer optimizer.Trainer, c *counter, steps int) int {
	session, err := trainer.Open(c.Params())
	if err != nil {
		return 0
	}
	defer session.Close(ctx) // what it could not send, the barrier or the sums will tell
	for i := range steps {
		st := c.step(false)
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
func (r *restart) train(ctx context.Context, f *fleet.Fleet, c *counter) error {
	if n := push(ctx, c.trainer, c, r.steps); n != r.steps {
		return fmt.Errorf("worker %d came to step %d of %d", f.WorkerIndex(), n, r.steps)
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	session, err := c.trainer.Open(c.Params())
	if err != nil {
		return err
	}
	st := c.step(true)
	if err := session.Begin(ctx, st); err != nil {
		return err
	}
	least, most := r.bounds()
	for i, w := range append(append([]float32(nil), c.w.W...), st.Rows[0].W...) {
		if w < least || w > most {
			return fmt.Errorf("worker %d: value %d counts %v pushes, there were %v to %v", f.WorkerIndex(), i, w, least, most)
		}
		if d := w - c.w.W[0]; r.strategy.Mode == strategy.ModeSync && (d < -1 || d > 1) {
			return fmt.Errorf("worker %d: value %d is %v and value 0 is %v: servers differ by more than the last round of the dead", f.WorkerIndex(), i, w, c.w.W[0])
		}
	}
	return f.StopWorker(ctx)
}

// bounds are how often every value counts, at least and at most.
func (r *restart) bounds() (least, most float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	lives := r.workers
	switch {
	case r.strategy.Mode == strategy.ModeSync:
		return float32(r.steps), float32(2 * r.steps)
	case r.forGood:
		return float32((lives-1)*r.steps + 4*r.acked), float32((lives-1)*r.steps + 4*r.begun)
	}
	return float32(lives*r.steps + r.acked), float32(lives*r.steps + r.begun)
}
