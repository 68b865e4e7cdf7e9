package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// cable is one worker's way to the network; pulled, nothing of it gets through, as when its machine has gone.
type cable struct {
	transport.Transport
	pulled atomic.Bool
}

var errPulled = errors.New("the cable is pulled")

func (c *cable) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if c.pulled.Load() {
		return errPulled
	}
	return c.Transport.Call(ctx, endpoint, req, read)
}

// TestWorkerDies has one worker of three fall silent: the others train to their end, and servers end with an error.
func TestWorkerDies(t *testing.T) {
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(400*time.Millisecond), strategy.Duration(20*time.Millisecond)
			net := transport.NewMemory()
			rule := optimizer.SGD{LR: 0.01}
			c := fleettest.Cluster{Servers: 2, Workers: 3, Options: fleet.Options{Transport: net}}
			errs := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				if f.WorkerIndex() == 1 {
					return dieAfter(ctx, f, net, rule, s, 2)
				}
				return train(ctx, f, rule, s, 6, nil)
			})
			for role, err := range errs {
				switch {
				case strings.HasPrefix(role, "server") && (!errors.Is(err, fleet.ErrWorkersDied) || !strings.Contains(err.Error(), "worker [1]")):
					t.Errorf("%s: %v, want ErrWorkersDied that names worker 1", role, err)
				case role == "worker 1" && !errors.Is(err, errPulled):
					t.Errorf("%s: %v, want its silence", role, err)
				case (role == "worker 0" || role == "worker 2") && err != nil:
					t.Errorf("%s: %v, want it to finish", role, err)
				}
			}
			if len(errs) != 5 {
				t.Errorf("%d roles ended, want 5", len(errs))
			}
		})
	}
}

// dieAfter takes the role of f with a cable of its own, trains some steps, and pulls it.
func dieAfter(ctx context.Context, f *fleet.Fleet, net transport.Transport, rule optimizer.Rule, s strategy.Strategy, steps int) error {
	c := &cable{Transport: net}
	role := rolemaker.UserDefined{CurrentID: f.WorkerIndex(), Role: rolemaker.Worker, WorkerNum: f.WorkerNum(), ServerEndpoints: f.ServerEndpoints()}
	own, err := fleet.New(role, fleet.Options{Transport: c})
	if err != nil {
		return err
	}
	return train(ctx, own, rule, s, steps, func(*toy) error {
		c.pulled.Store(true)
		return errPulled
	})
}

// half is a worker's way to the network of which, once cut, one push to one server gets through, and no answer.
type half struct {
	transport.Transport
	only    string
	cut     atomic.Bool
	once    sync.Once
	pushing sync.WaitGroup
}

func (h *half) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if !h.cut.Load() {
		return h.Transport.Call(ctx, endpoint, req, read)
	}
	if push := bytes.Join(req, nil); endpoint == h.only && len(push) > 1000 {
		h.once.Do(func() {
			h.pushing.Go(func() {
				_ = h.Transport.Call(context.WithoutCancel(ctx), endpoint, [][]byte{push}, func([]byte) error { return nil })
			})
		})
	}
	return errPulled
}

// dieHalfway trains two steps and sends the push of a third to one server.
func dieHalfway(ctx context.Context, f *fleet.Fleet, net transport.Transport, rule optimizer.Rule, s strategy.Strategy, reached int) error {
	h := &half{Transport: net, only: f.ServerEndpoints()[reached]}
	role := rolemaker.UserDefined{CurrentID: f.WorkerIndex(), Role: rolemaker.Worker, WorkerNum: f.WorkerNum(), ServerEndpoints: f.ServerEndpoints()}
	own, err := fleet.New(role, fleet.Options{Transport: h})
	if err != nil {
		return err
	}
	defer h.pushing.Wait()
	defer own.Close()
	return train(ctx, own, rule, s, 2, func(o *toy) error {
		s, err := o.trainer.Open(o.Params())
		if err != nil {
			return err
		}
		st := o.step(samples(8, 2), nil)
		if err := s.Begin(ctx, st); err != nil {
			return err
		}
		o.gradients(st, samples(8, 2))
		h.cut.Store(true)
		return s.End(ctx, st)
	})
}

// TestServerTakesWorkersWithIt ends one of two servers: all workers give up, and the other server is told of nobody for as long as
// that takes, not once more for each worker.
func TestServerTakesWorkersWithIt(t *testing.T) {
	s := strategy.Async().WithDefaults()
	fleettest.Cluster{Servers: 2, Workers: 6}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		began := time.Now()
		if f.IsServer() && f.ServerIndex() == 1 {
			ctx, die := context.WithTimeout(ctx, time.Minute)
			defer die()
			_, err := newCounter(1).join(ctx, f, s)
			if !errors.Is(err, context.DeadlineExceeded) {
				return fmt.Errorf("server 1: %v, it should have died", err)
			}
			return nil
		}
		c := newCounter(1)
		trainer, err := c.join(ctx, f, s)
		if trainer != nil {
			for err == nil {
				err = f.BarrierWorker(ctx)
				time.Sleep(time.Second)
			}
			f.Close()
			if !strings.Contains(err.Error(), "server 1 (") || strings.Contains(err.Error(), "server 0 (") {
				return fmt.Errorf("worker %d: %w, want a word on server 1 alone", f.WorkerIndex(), err)
			}
			return nil
		}
		if took := time.Since(began); !errors.Is(err, fleet.ErrWorkersDied) || took > time.Minute+5*s.WorkerTimeout.Std() {
			return fmt.Errorf("server 0 ended after %v: %w", took, err)
		}
		return nil
	})
}

// TestLastWorkerDiesHalfway has the only worker die when its push has reached one of two servers, which measure every gradient together:
// neither waits for the other.
func TestLastWorkerDiesHalfway(t *testing.T) {
	s, rule := strategy.Sync(), optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.01}, Norm: 1}
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(400*time.Millisecond), strategy.Duration(20*time.Millisecond)
	for reached := range 2 {
		t.Run(fmt.Sprintf("server %d", reached), func(t *testing.T) {
			net := transport.NewMemory()
			began := time.Now()
			errs := fleettest.Cluster{Servers: 2, Workers: 1, Options: fleet.Options{Transport: net}}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				if f.IsServer() {
					return train(ctx, f, rule, s, 0, nil)
				}
				return dieHalfway(ctx, f, net, rule, s, reached)
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
