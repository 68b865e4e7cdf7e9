package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// meeting runs work as every worker, with servers or without, and as one alone.
func meeting(t *testing.T, workers int, work func(ctx context.Context, f *fleet.Fleet) error) {
	for servers, s := range map[int]strategy.Strategy{0: {}, 1: strategy.Async(), 2: strategy.Sync()} {
		t.Run(fmt.Sprint("servers=", servers), func(t *testing.T) {
			fleettest.Run(t, servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
				return trial.Play(ctx, f, trial.NewToy(), optimizer.SGD{LR: 1}, s, func() error { return work(ctx, f) })
			})
		})
	}
}

func TestCollectivesReduce(t *testing.T) {
	t.Parallel()
	for _, workers := range []int{1, 3} {
		meeting(t, workers, func(ctx context.Context, f *fleet.Fleet) error {
			i, n := f.WorkerIndex(), workers
			for range 2 { // the same calls again are another meeting
				mine := []float64{float64(i), -0.5, 1e100}
				sum, err := f.AllReduce(ctx, mine, fleet.Sum)
				if want := []float64{float64(n * (n - 1) / 2), -0.5 * float64(n), float64(n) * 1e100}; err != nil || !reflect.DeepEqual(sum, want) {
					t.Errorf("sum %v, error %v, want %v", sum, err, want)
				}
				if mine[0] != float64(i) {
					t.Error("the caller's values were changed")
				}
				largest, err := f.AllReduce(ctx, mine, fleet.Max)
				if err != nil || largest[0] != float64(n-1) {
					t.Errorf("max %v, error %v", largest, err)
				}
				ints, err := f.AllReduceInts(ctx, []int64{int64(i), 1<<53 + 1}, fleet.Min)
				if err != nil || ints[0] != 0 || ints[1] != 1<<53+1 {
					t.Errorf("min %v, error %v", ints, err)
				}
				all, err := f.AllGather(ctx, make([]float64, i))
				if err != nil || len(all) != n || len(all[n-1]) != n-1 || all[0] == nil {
					t.Errorf("gathered %v, error %v", all, err)
				}
				if err := f.BarrierWorker(ctx); err != nil {
					return err
				}
			}
			if _, err := f.AllReduce(ctx, nil, "mean"); err == nil || !strings.Contains(err.Error(), `op is "mean"; it can be "sum"`) {
				t.Errorf("an unknown op: %v", err)
			}
			return nil
		})
	}
}

// TestUtilMeetsBetweenEpochs: workers with batches left go on while the others are in a collective.
func TestUtilMeetsBetweenEpochs(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 2} {
		x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: strategy.Sync(), To: 3, Ahead: true}
		x.After = func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
			sum, err := f.AllReduceInts(ctx, []int64{1}, fleet.Sum)
			if err != nil || sum[0] != 3 {
				return fmt.Errorf("sum %v: %w", sum, err)
			}
			return nil
		}
		x.On(t, trial.Cluster(servers, 3))
	}
}

// TestDifferentCollectivesAreRefused: workers that make different calls between steps all get an error that names both, none gets
// a result, and the same calls work afterwards.
//
// Promise: [G8] different calls between two steps, and two at once, are refused by name
// Also: TestCollectivesOfTwoGoroutines, TestDifferentCallsAreNamed (internal/collective), TestStrangersAreRefused
// (internal/collective)
func TestDifferentCollectivesAreRefused(t *testing.T) {
	t.Parallel()
	sum := func(ctx context.Context, f *fleet.Fleet) error {
		_, err := f.AllReduce(ctx, []float64{7, 2}, fleet.Sum)
		return err
	}
	others := map[string]func(ctx context.Context, f *fleet.Fleet) error{
		"AllReduceInts (sum of 2 values)": func(ctx context.Context, f *fleet.Fleet) error {
			_, err := f.AllReduceInts(ctx, []int64{7, 2}, fleet.Sum)
			return err
		},
		"AllReduce (max of 2 values)": func(ctx context.Context, f *fleet.Fleet) error {
			_, err := f.AllReduce(ctx, []float64{7, 2}, fleet.Max)
			return err
		},
		"AllReduce (sum of 3 values)": func(ctx context.Context, f *fleet.Fleet) error {
			_, err := f.AllReduce(ctx, []float64{7, 2, 1}, fleet.Sum)
			return err
		},
		"AllGather": func(ctx context.Context, f *fleet.Fleet) error {
			_, err := f.AllGather(ctx, []float64{7, 2})
			return err
		},
		"BarrierWorker": func(ctx context.Context, f *fleet.Fleet) error { return f.BarrierWorker(ctx) },
	}
	for name, other := range trial.SomeOf(t, others) {
		meeting(t, 3, func(ctx context.Context, f *fleet.Fleet) error {
			if f.ServerNum() == 0 {
				return nil // package collective has the test: it ends the job
			}
			call := sum
			if f.WorkerIndex() == 1 {
				call = other
			}
			err := call(ctx, f)
			if err == nil {
				return fmt.Errorf("%s: worker %d has a result", name, f.WorkerIndex())
			}
			text := strings.ReplaceAll(err.Error(), "is at", "at") // of the worker that came first
			if !strings.Contains(text, "worker 1 at "+name) || !strings.Contains(text, "at AllReduce (sum of 2 values)") {
				t.Errorf("%s: worker %d: error %v", name, f.WorkerIndex(), err)
			}
			return sum(ctx, f)
		})
	}
}

// TestCollectivesOfTwoGoroutines: a second collective of a worker at the same time is refused by name, since the other workers' goroutines may
// come in another order and their sums be mixed; the first goes on. A process alone may.
func TestCollectivesOfTwoGoroutines(t *testing.T) {
	t.Parallel()
	for servers, s := range map[int]strategy.Strategy{0: {}, 1: strategy.Async(), 2: strategy.Sync()} {
		fleettest.Cluster{Servers: servers, Workers: 2}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
			return trial.Play(ctx, f, trial.NewToy(), optimizer.SGD{LR: 1}, s, func() error {
				if f.WorkerIndex() == 1 {
					time.Sleep(10 * time.Second)
				}
				summed := make(chan error)
				go func() {
					sum, err := f.AllReduce(ctx, []float64{1}, fleet.Sum)
					if err == nil && sum[0] != 2 {
						err = fmt.Errorf("the sum of two ones is %v", sum)
					}
					summed <- err
				}()
				if f.WorkerIndex() == 0 {
					time.Sleep(time.Second)
					_, reduces := f.AllReduce(ctx, []float64{100}, fleet.Sum)
					_, gathers := f.AllGather(ctx, []float64{100})
					for _, err := range []error{reduces, gathers, f.BarrierWorker(ctx)} {
						if !errors.Is(err, fleet.ErrOrder) || !strings.Contains(err.Error(), "another goroutine is in AllReduce") {
							t.Errorf("%d servers: %v", servers, err)
						}
					}
				}
				return errors.Join(<-summed, f.BarrierWorker(ctx))
			})
		})
	}
}

func TestUtilAtTheWrongTime(t *testing.T) {
	t.Parallel()
	for role, err := range (fleettest.Cluster{Servers: 1, Workers: 1}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		_, err := f.AllGather(ctx, nil)
		return err
	}) {
		want := fleet.ErrOrder
		if strings.HasPrefix(role, "server") {
			want = fleet.ErrRole
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", role, err, want)
		}
	}
	for role, err := range (fleettest.Cluster{Workers: 2}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		_, err := f.AllReduce(ctx, nil, fleet.Sum)
		return err
	}) {
		if !errors.Is(err, fleet.ErrOrder) {
			t.Errorf("%s: %v", role, err)
		}
	}
}
