package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAnswersOfAnotherLife delivers a worker's push nowhere, and gives it the answer that another worker's push has got: the worker takes
// it for none of its own, and counts no step.
func TestAnswersOfAnotherLife(t *testing.T) {
	t.Parallel()
	var below transport.Transport
	answered := make(chan []byte, 1)
	keep := func(n transport.Transport) transport.Transport { below, answered = n, make(chan []byte, 1); return n }
	trial.Cluster(1, 2).Simulate(t, keep, func(ctx context.Context, f *fleet.Fleet) error {
		own := f
		if f.IsWorker() {
			var err error
			if own, err = trial.Another(f, &mixedUp{Transport: below, answers: answered, wrong: f.WorkerIndex() == 1}); err != nil {
				return err
			}
			defer own.Close()
		}
		c := trial.NewCounter(5)
		worker, err := c.Join(ctx, own, strategy.Async())
		if !worker {
			if errors.Is(err, fleet.ErrWorkersDied) {
				return nil
			}
			return err
		}
		err = errors.Join(c.Train(ctx, 1), c.Trainer.EndEpoch(ctx))
		if own.WorkerIndex() == 0 {
			return errors.Join(err, own.StopWorker(ctx))
		}
		if n := own.Stats().Counts.Steps; err == nil || !strings.Contains(err.Error(), "not of this worker's run of the job") || n != 0 {
			return fmt.Errorf("%d steps count, and the answer is taken: %w", n, err)
		}
		return nil
	})
}

// mixedUp is a way to the network that keeps the answer to a push or, if it is the wrong one, gives it to a push that it does not carry.
type mixedUp struct {
	transport.Transport
	answers chan []byte
	wrong   bool
}

// Call implements [transport.Transport].
func (m *mixedUp) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	switch {
	case !isPush(req):
		return m.Transport.Call(ctx, endpoint, req, read)
	case m.wrong:
		return read(<-m.answers)
	}
	return m.Transport.Call(ctx, endpoint, req, func(body []byte) error {
		m.answers <- slices.Clone(body)
		return read(body)
	})
}

// TestNothingOutlivesItsLife has a push wait at the server until a checkpoint is saved, and its worker be killed and started again
// meanwhile: the push counts nowhere.
//
// Promise: [G1] once another process has a worker's place, messages of the previous process no longer count; an
// answer made for another worker acknowledges nothing
// Also: TestAnswersOfAnotherLife
func TestNothingOutlivesItsLife(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeAsync, strategy.ModeHalfAsync} {
		t.Run(string(mode), func(t *testing.T) {
			var below transport.Transport
			saving, saved, lives := make(chan struct{}), make(chan struct{}), make(chan struct{})
			wrap := func(n transport.Transport) transport.Transport {
				saving, saved, lives = make(chan struct{}), make(chan struct{}), make(chan struct{})
				held := trial.Requests(t, "server-0:1", `"knows":1`)
				below = &trial.Tap{Transport: n, Before: func(endpoint string, req [][]byte) error {
					if held(endpoint, req) {
						close(saving) // pushes are held
						<-lives
						time.Sleep(time.Second)
					}
					return nil
				}}
				return below
			}
			s := strategy.Strategy{Mode: mode, WorkerTimeout: strategy.Duration(10 * time.Minute)}
			trial.Cluster(1, 2).Simulate(t, wrap, func(ctx context.Context, f *fleet.Fleet) error {
				first := trial.NewCounter(5)
				if f.IsServer() || f.WorkerIndex() == 1 {
					return first.Play(ctx, f, s, func() error {
						defer close(saved)
						return f.SavePersistables(ctx, t.TempDir())
					})
				}
				cable := &trial.Cable{Transport: below}
				own, err := trial.Another(f, cable)
				if err != nil {
					return err
				}
				if _, err := first.Join(ctx, own, s); err != nil {
					return err
				}
				<-saving
				mortal, kill := context.WithTimeout(ctx, time.Second)
				defer kill()
				if err := errors.Join(first.Train(mortal, 1), first.Trainer.EndEpoch(mortal)); err == nil {
					return errors.New("its push was not held")
				}
				cable.Kill()
				own.Close()
				second := trial.NewCounter(5)
				return second.Play(ctx, f, s, func() error {
					close(lives)
					<-saved
					return second.Holds(ctx, 0)
				})
			})
		})
	}
}
