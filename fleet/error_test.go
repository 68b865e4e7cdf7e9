package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
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
