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

// backJob is a job whose roles are started again when they end with ErrWentBack or by kill -9, as an operator does.
type backJob struct {
	strategy strategy.Strategy
	kills    map[string]time.Duration // when a role is killed
	pause    time.Duration            // before a role is started again
	network  transport.Transport

	mu   sync.Mutex
	back int // roles that ended with ErrWentBack
}

// TestAllGoBackAfterAServersDeath kills servers in every order, and starts again every role that ends: nobody trains on with one
// server's weights of before and another's fresh ones, so that in the end the weights count the steps of one run, each once.
//
// Promise: [G5] a server that ends or was started again ends the job for all, who say why and can be started again;
// no job trains on with weights of two runs
// Also: TestWorker0DiesBeforePublishing, TestAKilledServerEndsTheJob (examples/wide_and_deep)
func TestAllGoBackAfterAServersDeath(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	at := func(d ...time.Duration) map[string]time.Duration {
		all := map[string]time.Duration{}
		for i, d := range d {
			if d > 0 {
				all[fmt.Sprint("server ", i)] = d
			}
		}
		return all
	}
	const s = time.Second
	orders := map[string]map[string]time.Duration{"0": at(5*s, 0), "1": at(0, 5*s), "both": at(5*s, 5*s), "0, 1": at(5*s, 6*s), "1, 0": at(7300*time.Millisecond, 5*s),
		"1 and a worker": {"server 1": 5 * s, "worker 0": 5 * s}}
	for _, m := range trial.Some(t, deathModes(t)) {
		for order, kills := range trial.SomeOf(t, orders) {
			for _, pause := range []time.Duration{10 * time.Millisecond, 700 * time.Millisecond, 5 * s} {
				t.Run(fmt.Sprintf("%s, %s, after %v", m.Mode, order, pause), func(t *testing.T) {
					j := &backJob{strategy: m, kills: kills, pause: pause}
					trial.Cluster(2, 3).Simulate(t, func(below transport.Transport) transport.Transport { j.network = below; return below }, j.play)
					if j.back < 3 {
						t.Errorf("%d roles went back", j.back)
					}
				})
			}
		}
	}
}

// play is what every role runs, process after process.
func (j *backJob) play(ctx context.Context, f *fleet.Fleet) error {
	role := fmt.Sprintf("worker %d", f.WorkerIndex())
	if f.IsServer() {
		role = fmt.Sprintf("server %d", f.ServerIndex())
	}
	death, dies := j.kills[role]
	var dying sync.WaitGroup
	defer dying.Wait()
	for processes := 1; ; processes++ {
		cable := &trial.Cable{Transport: j.network}
		own, err := trial.Another(f, cable)
		if err != nil {
			return err
		}
		killed := make(chan struct{})
		mortal, cancel := context.WithCancel(ctx)
		if dies {
			time.AfterFunc(death, func() { cable.Kill(); close(killed); cancel() })
		}
		ended := make(chan error, 1)
		dying.Go(func() {
			ended <- j.live(mortal, own)
			own.Close()
		})
		select {
		case err = <-ended:
		case <-killed: // what is left of the process is no hindrance to the next
			err = context.Canceled
		}
		cancel()
		switch {
		case errors.Is(err, fleet.ErrWentBack):
			j.mu.Lock()
			j.back++
			j.mu.Unlock()
		case dies && err != nil:
			<-killed
		case err != nil && !strings.Contains(err.Error(), "start the job again") && !again(err):
			return fmt.Errorf("%s, process %d: %w", role, processes, err)
		case err == nil:
			return nil
		}
		if dies = false; processes > 20 {
			return fmt.Errorf("%s was started %d times: %w", role, processes, err)
		}
		time.Sleep(j.pause)
	}
}

// again says whether an operator who starts whatever ends would start a role again that ended so.
func again(err error) bool { return errors.Is(err, fleet.ErrWorkersDied) }

// live is one process: twenty steps, a second each, and what they come to.
func (j *backJob) live(ctx context.Context, f *fleet.Fleet) error {
	c := trial.NewCounter(16)
	s := j.strategy
	if worker, err := c.Join(ctx, f, s); !worker {
		return err
	}
	const steps = 20
	err := c.InSession(ctx, func(session optimizer.Session) error {
		for range steps {
			if err := trial.Step(ctx, session, c.Step(), func() { time.Sleep(time.Second) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := errors.Join(f.BarrierWorker(ctx), j.holds(ctx, f, c, steps)); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	return f.StopWorker(ctx)
}

// holds compares the weights with the steps of one run: in sync an update is the mean of the workers' gradients.
func (j *backJob) holds(ctx context.Context, f *fleet.Fleet, c *trial.Counter, steps int) error {
	want := float32(steps * f.WorkerNum())
	if j.strategy.Mode == strategy.ModeSync {
		want = float32(steps)
	}
	values, err := c.Values(ctx)
	if err != nil {
		return err
	}
	for i, v := range values {
		if v < want-0.01 || v > want+0.01 {
			return fmt.Errorf("value %d of %d is %v, want %v: two runs are mixed", i, len(values), v, want)
		}
	}
	return nil
}

// TestASecondJobIsRefused starts a job again at its addresses while it trains, the same program with the same processes: each of the second
// job's is refused by name, and the weights count the steps of the first alone.
//
// Promise: [G8] a second job at the addresses of one that trains is refused
func TestASecondJobIsRefused(t *testing.T) {
	t.Parallel()
	for _, m := range deathModes(t) {
		t.Run(string(m.Mode), func(t *testing.T) {
			j := &backJob{strategy: m}
			play := func(ctx context.Context, f *fleet.Fleet) error {
				second, err := trial.Another(f, j.network)
				if err != nil {
					return err
				}
				refused := make(chan error, 1)
				go func() {
					time.Sleep(5 * time.Second)
					defer second.Close()
					_, err := trial.NewCounter(16).Join(ctx, second, m)
					refused <- err
				}()
				first := j.live(ctx, f)
				says := "start no worker twice"
				if f.IsServer() {
					says = "can't listen"
				}
				if err := <-refused; err == nil || !strings.Contains(err.Error(), says) {
					return errors.Join(first, fmt.Errorf("the second process ends with %w, want %q", err, says))
				}
				return first
			}
			trial.Cluster(2, 2).Simulate(t, func(below transport.Transport) transport.Transport { j.network = below; return below }, play)
		})
	}
}

// TestWorker0DiesBeforePublishing ends worker 0 when it has joined and before it has published: the others are told, at once where they
// go in step with it and it says so, and else when it has been silent for a worker timeout, and do not wait for weights that nobody has.
func TestWorker0DiesBeforePublishing(t *testing.T) {
	t.Parallel()
	for _, m := range deathModes(t) {
		for _, stopped := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, stopped %t", m.Mode, stopped), func(t *testing.T) {
				var cable *trial.Cable
				wrap := func(below transport.Transport) transport.Transport {
					cable = &trial.Cable{Transport: below}
					return below
				}
				trial.Cluster(2, 2).Simulate(t, wrap, func(ctx context.Context, f *fleet.Fleet) error {
					c := trial.NewCounter(4)
					began := time.Now()
					if f.WorkerIndex() == 0 {
						own, err := trial.Another(f, &firstOnly{Cable: cable})
						if err != nil {
							return err
						}
						defer own.Close()
						if !stopped {
							defer cable.Kill()
						}
						ctx, cancel := context.WithTimeout(ctx, time.Second)
						defer cancel()
						_, err = c.Join(ctx, own, m)
						if !errors.Is(err, context.DeadlineExceeded) {
							return fmt.Errorf("worker 0: %w, want it to end before it has published", err)
						}
						return nil
					}
					_, err := c.Join(ctx, f, m)
					if !errors.Is(err, fleet.ErrWentBack) || !strings.Contains(err.Error(), "before it published") {
						return fmt.Errorf("%v: %w, want ErrWentBack that says who has not published", f, err)
					}
					if took := time.Since(began); took > 40*time.Second || stopped && inStep(m.Mode) && took > 5*time.Second {
						return fmt.Errorf("%v was told after %v", f, took)
					}
					return nil
				})
			})
		}
	}
}

// firstOnly lets nothing large through: messages of a worker that joins are small beside its weights, of which there is no word.
type firstOnly struct {
	*trial.Cable
}

// Call implements [transport.Transport].
func (c *firstOnly) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	const publish = 3
	for _, part := range req {
		if len(part) >= 64 && part[0] == 'g' && part[5] == publish {
			return trial.ErrPulled
		}
	}
	return c.Cable.Call(ctx, endpoint, req, read)
}
