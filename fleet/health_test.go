package fleet_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// probe fails the test unless the paths that are named answer well, and the others do not.
func probe(t *testing.T, f *fleet.Fleet, when string, ask func(path string) (int, string), well ...string) {
	t.Helper()
	want := map[string]bool{}
	for _, path := range well {
		want[path] = true
	}
	for _, path := range []string{"/livez", "/readyz", "/startupz"} {
		if status, text := ask(path); (status == http.StatusOK) != want[path] {
			t.Errorf("%v %s, %s: %d %s", f, when, path, status, text)
		}
	}
}

// TestProbes: in every kind of job a role has begun when it has joined or listens, is ready until it is asked to end, and lives all the time,
// also while a worker evaluates for 15 minutes and the others wait for it.
func TestProbes(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			job.Cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				ctx, end := context.WithCancel(ctx)
				defer end()
				b := f.Probed()
				probe(t, f, "before Minimize", b.Answer, "/livez")
				c := trial.CounterFor(job.Strategy)
				if f.IsServer() {
					time.AfterFunc(10*time.Minute, func() {
						probe(t, f, "in the job", b.Answer, "/livez", "/readyz", "/startupz")
					})
				}
				err := c.Play(ctx, f, job.Strategy, func() error {
					if err := c.Train(ctx, 3); err != nil {
						return err
					}
					for range 15 {
						if f.WorkerIndex() == 0 {
							time.Sleep(time.Minute)
							probe(t, f, "in an evaluation", b.Answer, "/livez", "/readyz", "/startupz")
						}
					}
					if err := f.BarrierWorker(ctx); err != nil {
						return err
					}
					probe(t, f, "behind it", b.Answer, "/livez", "/readyz", "/startupz")
					return nil
				})
				probe(t, f, "behind StopWorker", b.Answer, "/livez")
				return err
			})
		})
	}
}

// TestProbesOfWhoIsAskedToEnd: a role that is asked to end is not ready from then on, and lives.
func TestProbesOfWhoIsAskedToEnd(t *testing.T) {
	t.Parallel()
	for _, mode := range []strategy.Mode{strategy.ModeSync, strategy.ModeAsync} {
		t.Run(string(mode), func(t *testing.T) {
			job := trial.Jobs(t)[string(mode)]
			job.Strategy.Recovery.Dir = t.TempDir()
			job.Cluster.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
				ctx, end := context.WithCancelCause(ctx)
				defer end(nil)
				b, c := f.Probed(), trial.CounterFor(job.Strategy)
				var asked sync.WaitGroup
				defer asked.Wait()
				asked.Go(func() {
					time.Sleep(5 * time.Second)
					probe(t, f, "in the job", b.Answer, "/livez", "/readyz", "/startupz")
					time.Sleep(time.Millisecond) // until all have looked
					end(errTerminated)
					time.Sleep(time.Millisecond)
					if status, _ := b.Answer("/readyz"); status == http.StatusOK {
						t.Errorf("%v is ready though it was asked to end", f)
					}
				})
				_ = c.Play(ctx, f, job.Strategy, func() error {
					defer f.Close()
					for ctx.Err() == nil {
						if err := c.Train(ctx, 1); err != nil {
							return err
						}
						time.Sleep(100 * time.Millisecond)
					}
					return ctx.Err()
				})
				if status, text := b.Answer("/livez"); status != http.StatusOK {
					t.Errorf("%v has ended: %s", f, text)
				}
				return nil
			})
		})
	}
}
