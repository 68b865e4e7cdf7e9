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
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestWorkerDies has one worker of three fall silent: the others train to their end, and servers end with an error.
func TestWorkerDies(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				net := transport.NewMemory()
				x := trial.Training{Rule: optimizer.SGD{LR: 0.01}, Strategy: trial.Hasty(s), To: 6, Ahead: true}
				c := fleettest.Cluster{Servers: 2, Workers: 3, Options: fleet.Options{Transport: net}}
				errs := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					if f.WorkerIndex() == 1 {
						return dieAfter(ctx, f, net, x)
					}
					return x.Run(ctx, f)
				})
				for role, err := range errs {
					switch {
					case strings.HasPrefix(role, "server") && (!errors.Is(err, fleet.ErrWorkersDied) || !strings.Contains(err.Error(), "worker [1]")):
						t.Errorf("%s: %v, want ErrWorkersDied that names worker 1", role, err)
					case role == "worker 1" && !errors.Is(err, trial.ErrPulled):
						t.Errorf("%s: %v, want its silence", role, err)
					case (role == "worker 0" || role == "worker 2") && err != nil:
						t.Errorf("%s: %v, want it to finish", role, err)
					}
				}
				if len(errs) != 5 {
					t.Errorf("%d roles ended, want 5", len(errs))
				}
			})
		})
	}
}

// dieAfter takes the role of f with a cable of its own, trains two steps, and pulls it.
func dieAfter(ctx context.Context, f *fleet.Fleet, net transport.Transport, x trial.Training) error {
	c := &trial.Cable{Transport: net}
	own, err := trial.Another(f, c)
	if err != nil {
		return err
	}
	defer own.Close()
	x.To, x.After = 2, func(context.Context, *fleet.Fleet, *trial.Toy) error {
		c.Pulled.Store(true)
		return trial.ErrPulled
	}
	return x.Run(ctx, own)
}

// TestServerTakesWorkersWithIt stops one of two servers: it says so, and all workers and the other server end at once.
func TestServerTakesWorkersWithIt(t *testing.T) {
	t.Parallel()
	s := strategy.Async().WithDefaults()
	trial.Cluster(2, 6).Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		began, c := time.Now(), trial.NewCounter(1)
		soon := func() bool { return time.Since(began) < time.Minute+3*time.Second }
		if f.IsServer() && f.ServerIndex() == 1 {
			ctx, die := context.WithTimeout(ctx, time.Minute)
			defer die()
			if _, err := c.Join(ctx, f, s); !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("server 1: %v, it should have died", err)
			}
			return nil
		}
		worker, err := c.Join(ctx, f, s)
		if worker {
			for err == nil {
				err = f.BarrierWorker(ctx)
				time.Sleep(time.Second)
			}
			f.Close()
		}
		if !errors.Is(err, fleet.ErrWentBack) || !strings.Contains(err.Error(), "server 1 (server-1:1) was stopped") || !soon() {
			return fmt.Errorf("%v ended after %v with %w, want ErrWentBack at once, with server 1's name", f, time.Since(began), err)
		}
		return nil
	})
}

// TestLastWorkerDiesHalfway has the only worker die when its push has reached one of two servers, which measure every gradient
// together: neither waits for the other.
func TestLastWorkerDiesHalfway(t *testing.T) {
	t.Parallel()
	s, rule := trial.Hasty(strategy.Sync()), optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.01}, Norm: 1}
	for reached := range 2 {
		t.Run(fmt.Sprintf("server %d", reached), func(t *testing.T) {
			net := transport.NewMemory()
			began := time.Now()
			errs := fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: net}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				if f.IsServer() {
					return trial.Training{Rule: rule, Strategy: s}.Run(ctx, f)
				}
				return trial.DieHalfway(ctx, f, net, rule, s, reached)
			})
			for _, role := range []string{"server 0", "server 1"} {
				if !errors.Is(errs[role], fleet.ErrWorkersDied) {
					t.Errorf("%s: %v, want ErrWorkersDied", role, errs[role])
				}
			}
			// A worker's silence, and where the others of its push are waited for, as long again.
			if took, least := time.Since(began), time.Duration(2-reached)*s.WorkerTimeout.Std(); took > time.Minute || took < least {
				t.Errorf("it took %v, want %v or a little more", took, least)
			}
		})
	}
}
