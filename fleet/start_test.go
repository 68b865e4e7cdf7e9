package fleet_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// TestAWorkerThatNeverComes: a server waits for it, and for another that was refused, as long as the strategy says, and then ends the job,
// which names both; meanwhile its log says for whom it waits, and whom it has refused.
//
// Promise: [G4] a wait for workers that never start, for names that resolve late or never, and at barriers ends
// Also: TestNamesThatResolveLate, TestANameThatNeverResolves, TestABarrierEndsWithItsContext
func TestAWorkerThatNeverComes(t *testing.T) {
	t.Parallel()
	for _, limit := range []time.Duration{40 * time.Second, 20 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			s := strategy.Sync()
			s.StartTimeout, s.WaitTimeout = strategy.Duration(limit), strategy.Duration(time.Hour)
			began, log, cluster := time.Now(), new(trial.Log), trial.Cluster(1, 3)
			cluster.Options.Logger = log.Logger()
			errs := cluster.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				switch {
				case f.IsWorker() && f.WorkerIndex() == 1:
					return nil
				case f.IsWorker() && f.WorkerIndex() == 2:
					return trial.Training{Strategy: strategy.Async(), To: 3}.Run(ctx, f)
				}
				return trial.Training{Strategy: s, To: 3, Ahead: true}.Run(ctx, f)
			})
			if took := time.Since(began); took < limit || took > limit+limit/4 {
				t.Errorf("the job took %v, the strategy waits %v", took, limit)
			}
			for _, role := range []string{"server 0", "worker 0"} {
				if err := errs[role]; err == nil || !strings.Contains(err.Error(), "worker 1 (has not joined), worker 2 (has not joined)") {
					t.Errorf("%s: %v, want workers 1 and 2 to be missing", role, err)
				}
			}
			if refused := log.Lines("refused a process"); len(refused) != 1 || !strings.Contains(refused[0], "worker 2") || !strings.Contains(refused[0], "strategy mode") {
				t.Errorf("the log has of the refused worker: %q", refused)
			}
			if waits := log.Lines("workers are missing"); len(waits) < 2 || !strings.Contains(waits[0], "worker 1 (has not joined), worker 2") {
				t.Errorf("the log has of the wait: %q", waits)
			}
		})
	}
}

// late is a network on which no name resolves until a moment.
type late struct {
	transport.Transport
	from time.Time
}

func (n late) lookup(endpoint string) error {
	if time.Now().Before(n.from) {
		return &net.DNSError{Err: "no such host", Name: endpoint, IsNotFound: true}
	}
	return nil
}

// Listen implements [transport.Transport].
func (n late) Listen(endpoint string) (transport.Listener, error) {
	if err := n.lookup(endpoint); err != nil {
		return nil, err
	}
	return n.Transport.Listen(endpoint)
}

// Call implements [transport.Transport].
func (n late) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if err := n.lookup(endpoint); err != nil {
		return errors.Join(transport.ErrUnreachable, err)
	}
	return n.Transport.Call(ctx, endpoint, req, read)
}

// TestNamesThatResolveLate: a job whose processes begin before their names are known waits for them, with a reason, and trains.
func TestNamesThatResolveLate(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 2} {
		log := new(trial.Log)
		c := fleettest.Cluster{Servers: servers, Workers: 2, Options: fleet.Options{Logger: log.Logger()}}
		c.Simulate(t, func(inner transport.Transport) transport.Transport { return late{inner, time.Now().Add(time.Minute)} },
			trial.Training{Strategy: strategy.Sync(), To: 3, Ahead: true}.Run)
		want := map[string]int{"own name does not resolve, still waiting": 2, "why=": 2}
		if servers > 0 {
			want["server not ready, still waiting"] = 2
		}
		for what, n := range want {
			if strings.Count(log.String(), what) < n || !strings.Contains(log.String(), "no such host") {
				t.Errorf("%d servers: the log does not say %q:\n%s", servers, what, log.String())
			}
		}
	}
}

// TestANameThatNeverResolves ends a server and a worker of a collective job after StartTimeout.
func TestANameThatNeverResolves(t *testing.T) {
	t.Parallel()
	s := strategy.Sync()
	s.StartTimeout = strategy.Duration(time.Minute)
	for _, servers := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			c := fleettest.Cluster{Servers: servers, Workers: 2, Options: fleet.Options{Transport: late{transport.NewMemory(), time.Now().Add(time.Hour)}}}
			began := time.Now()
			for role, err := range c.Errors(t, trial.Training{Strategy: s, To: 3, Ahead: true}.Run) {
				if err == nil || !strings.Contains(err.Error(), "no such host") {
					t.Errorf("%s: %v, want what failed", role, err)
				}
			}
			if took := time.Since(began); took < time.Minute || took > time.Minute+time.Second {
				t.Errorf("%d servers: it took %v, StartTimeout is a minute", servers, took)
			}
		})
	}
}

// deaf is a network on which listeners return from Serve at once, with this error.
type deaf struct {
	transport.Transport
	err error
}

func (n deaf) Listen(endpoint string) (transport.Listener, error) {
	l, err := n.Transport.Listen(endpoint)
	return deafListener{l, n.err}, err
}

type deafListener struct {
	transport.Listener
	err error
}

func (l deafListener) Serve(transport.Handler) error { return l.err }

// TestRoleEndsWhenServeReturns: a transport that returns from Serve before it is closed ends its server or its rank at once, with a reason.
func TestRoleEndsWhenServeReturns(t *testing.T) {
	t.Parallel()
	for _, servers := range []int{0, 1} {
		for _, reason := range []error{nil, errors.New("the cable is cut")} {
			want := transport.ErrReturned.Error()
			if reason != nil {
				want = reason.Error()
			}
			synctest.Test(t, func(t *testing.T) {
				c := fleettest.Cluster{Servers: servers, Workers: 2, Options: fleet.Options{Transport: deaf{transport.NewMemory(), reason}}}
				began := time.Now()
				all := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					if servers > 0 && f.IsWorker() {
						return nil
					}
					return trial.Training{Strategy: strategy.Sync(), To: 3, Ahead: true}.Run(ctx, f)
				})
				for role, err := range all {
					if err == nil && servers == 0 || err != nil && !strings.Contains(err.Error(), "stopped listening: "+want) {
						t.Errorf("%s: %v, want %s", role, err, want)
					}
				}
				if took := time.Since(began); len(all) == 0 || took > time.Minute {
					t.Errorf("%d servers: it took %v: %v", servers, took, all)
				}
			})
		}
	}
}
