package fleet_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestForesight has two workers push in turn, under rules with momentum and without: a training step begins with the weights as
// momentum will have moved them when its gradient arrives, which is one update of the other worker later, and an evaluation sees
// those that the servers have.
//
// Promise: [G2] answers have the dense weights that momentum makes of them, for as many updates as a gradient misses
// Also: TestAhead (internal/update)
func TestForesight(t *testing.T) {
	t.Parallel()
	const mu = 0.5
	for _, c := range []struct {
		name  string
		s     strategy.Strategy
		rule  optimizer.Rule
		carry float32 // of the last update
	}{
		{"async", strategy.Async(), optimizer.Momentum{LR: 1, Momentum: mu}, mu},
		{"half_async", strategy.HalfAsync(), optimizer.Momentum{LR: 1, Momentum: mu}, mu},
		{"ssp", strategy.SSP(3), optimizer.Momentum{LR: 1, Momentum: mu}, mu},
		{"not asked for", strategy.Strategy{NoForesight: true}, optimizer.Momentum{LR: 1, Momentum: mu}, 0},
		{"compensated", strategy.Strategy{DelayCompensation: 1e-30}, optimizer.Momentum{LR: 1, Momentum: mu}, 0},
		{"without momentum", strategy.Async(), optimizer.SGD{LR: 1}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			turns := sync.OnceValue(func() pair { // inside the bubble
				p := pair{make(chan struct{}, 1), make(chan struct{}, 1)}
				p[0] <- struct{}{}
				return p
			})
			trial.Cluster(2, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				o := trial.NewCounter(4)
				return trial.Play(ctx, f, o, c.rule, c.s, func() error { return turns().play(ctx, f, o, c.carry) })
			})
		})
	}
}

// TestSSPStepSeesAwaitedPushes: in ssp a step begins with the pushes of the slowest worker without which it may not
// begin, also those that came while the answer to its own push waited, foreseen or not.
//
// Promise: [G2] in ssp a step begins with all pushes that its bound asks for, foreseen or not
func TestSSPStepSeesAwaitedPushes(t *testing.T) {
	t.Parallel()
	for _, bound := range []int{0, 2} {
		trial.Cluster(2, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
			o := trial.NewCounter(4)
			return o.Play(ctx, f, strategy.SSP(bound), func() error {
				return o.InSession(ctx, func(s optimizer.Session) error {
					for i := range 8 {
						if err := s.Begin(ctx, o.Step()); err != nil {
							return err
						}
						if least := i + max(0, i-bound); o.W.W[0] < float32(least) {
							return fmt.Errorf("worker %d begins step %d, %d ahead at most, on %v pushes, want %d at least",
								f.WorkerIndex(), i, bound, o.W.W[0], least)
						}
						time.Sleep(time.Duration(f.WorkerIndex()) * time.Second) // worker 1 is the slower one
						if err := s.End(ctx, o.Step()); err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
	}
}

// pair are the turns of two workers.
type pair [2]chan struct{}

// play makes steps in turn with the other worker. The counter's gradients are all -1, so that w and its last update, made by
// hand, are known at any time.
func (p pair) play(ctx context.Context, f *fleet.Fleet, o *trial.Counter, carry float32) error {
	const steps = 6
	me := f.WorkerIndex()
	train, err := o.OpenSession()
	if err != nil {
		return err
	}
	var before, now float32 // the servers' weights at this worker's last push, and the push before
	for i := range steps {
		if err := p.mine(ctx, me); err != nil {
			return err
		}
		if err := train.Begin(ctx, o.Step()); err != nil {
			return err
		}
		if want := now + carry*(now-before); i > 1 && o.W.W[0] != want {
			return fmt.Errorf("worker %d begins step %d with %v, want %v: the servers had %v when it pushed, and %v before", me, i, o.W.W[0], want, now, before)
		}
		if before, err = held(ctx, o); err != nil {
			return err
		}
		if err := train.End(ctx, o.Step()); err != nil {
			return err
		}
		synctest.Wait() // until it has been pushed
		if now, err = held(ctx, o); err != nil {
			return err
		}
		p[1-me] <- struct{}{}
	}
	if err := p.mine(ctx, me); err != nil {
		return err
	}
	defer func() { p[1-me] <- struct{}{} }()
	// The session that trains evaluates on the servers' weights too, though they are no newer than its foreseen ones.
	if _, err := o.Seen(ctx, train); err != nil {
		return err
	}
	if newest, err := held(ctx, o); err != nil || o.W.W[0] != newest {
		return fmt.Errorf("worker %d evaluates on %v, the servers have %v, error %v", me, o.W.W[0], newest, err)
	}
	return train.Close(ctx)
}

// mine waits for the worker's turn.
func (p pair) mine(ctx context.Context, me int) error {
	select {
	case <-p[me]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// held is a weight as the servers have it.
func held(ctx context.Context, o *trial.Counter) (float32, error) {
	c := trial.NewCounter(4)
	c.Bind(o.Trainer)
	values, err := c.Values(ctx)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}
