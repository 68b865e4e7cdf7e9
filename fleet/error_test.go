package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// about compares whom an error is about.
func about(err error, want fleet.Error, awaits string) error {
	var e *fleet.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%w: it is about nobody", err)
	}
	got := *e
	if got.Err, got.Awaits = nil, ""; got != want || !strings.Contains(e.Awaits, awaits) || !strings.Contains(err.Error(), e.Endpoint) {
		return fmt.Errorf("%w: it is about %+v, awaits %q; want %+v and %q", err, got, e.Awaits, want, awaits)
	}
	return nil
}

// TestErrorsSayWhomTheyAreAbout: a program finds the server, the worker, the table and who was waited for in an error, and its cause.
func TestErrorsSayWhomTheyAreAbout(t *testing.T) {
	t.Parallel()
	trial.Cluster(2, 3).Simulate(t, trial.Latent(10*time.Millisecond), trial.Counters(1, strategy.Async(),
		func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			w := f.WorkerIndex()
			short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
			defer cancel()
			var read error
			for _, read = range f.Rows(short, c.List[1].Name) {
				break
			}
			if err := about(read, fleet.Error{Role: "server", Index: 0, Endpoint: "server-0:1", Worker: w, Table: c.List[1].Name}, ""); err != nil {
				return err
			}
			if w == 2 {
				time.Sleep(time.Minute)
				return f.BarrierWorker(ctx)
			}
			long, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			err := f.BarrierWorker(long)
			if !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("the barrier ends with %w", err)
			}
			err = about(err, fleet.Error{Role: "server", Index: 0, Endpoint: "server-0:1", Worker: w}, "missing worker 2 (")
			return errors.Join(err, f.BarrierWorker(ctx))
		}))
	trial.Cluster(0, 2).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		err := trial.Counters(1, strategy.Sync(), func(ctx context.Context, f *fleet.Fleet, c *trial.Counter) error {
			if f.WorkerIndex() == 1 {
				return errors.New("it fails")
			}
			return c.Train(ctx, 1)
		})(ctx, f)
		if f.Close(); f.WorkerIndex() == 0 {
			return about(err, fleet.Error{Role: "rank", Index: 1, Endpoint: "worker-1:1", Worker: 0}, "")
		}
		return nil
	})
}

// TestErrorsOfServersSayWhatTheyAwait: where servers clip by the norm of whole gradients, and a server's part of it does not come through, the
// errors of both are about the other, and that server's about the norm.
func TestErrorsOfServersSayWhatTheyAwait(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ended := map[string]error{}
	asks := trial.Requests(t, "server-0:1", "norms")
	lost := func(below transport.Transport) transport.Transport {
		return &trial.Tap{Transport: below, Before: func(endpoint string, req [][]byte) error {
			if asks(endpoint, req) {
				return fmt.Errorf("lost on its way: %w", transport.ErrUnreachable)
			}
			return nil
		}}
	}
	s, rule := strategy.Sync(), optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 1}
	trial.Cluster(2, 1).Simulate(t, lost, func(ctx context.Context, f *fleet.Fleet) error {
		err := trial.Training{Rule: rule, Strategy: s, To: 2}.Run(ctx, f)
		mu.Lock()
		defer mu.Unlock()
		if f.IsServer() {
			ended[fmt.Sprintf("server-%d:1", f.ServerIndex())] = err
		}
		return nil
	})
	want := fleet.Error{Role: "server", Index: 0, Endpoint: "server-0:1", Worker: -1}
	if err := about(ended["server-1:1"], want, "the norm of round"); err != nil {
		t.Errorf("server 1: %v", err)
	}
	if e, is := errors.AsType[*fleet.Error](ended["server-0:1"]); !is || e.Index != 1 || e.Endpoint != "server-1:1" { // which has told it
		t.Errorf("server 0: %v is about %+v", ended["server-0:1"], e)
	}
}
