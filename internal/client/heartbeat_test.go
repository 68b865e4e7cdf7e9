package client

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

// beats counts heartbeats by server, and fails them while err is set.
type beats struct {
	mu  sync.Mutex
	n   map[string]int
	err error
}

func (b *beats) before(endpoint string, h wire.Header) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if h.Op != wire.OpHeartbeat {
		return nil
	}
	b.n[endpoint]++
	return b.err
}

func (b *beats) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

// since resets the counts and returns them.
func (b *beats) since() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.n
	b.n = map[string]int{}
	return n
}

// TestIdleWorkerStaysAlive does nothing for an hour of its bubble, then trains: heartbeats kept it in the job. They go to
// every server at the strategy's pace and end with the worker.
func TestIdleWorkerStaysAlive(t *testing.T) {
	law.Slow(t)
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 2, 1, strategy.Sync())
		j.serve(0, 1)
		b := &beats{n: map[string]int{}}
		c := j.join(0, &tap{Transport: j.net, before: b.before})
		b.since()
		<-time.After(time.Hour + time.Millisecond)
		for endpoint, n := range b.since() {
			if n != 3600 {
				t.Errorf("%d heartbeats to %s in an hour, want one a second", n, endpoint)
			}
		}
		th := open(t, c)
		th.train(1, []uint64{1}, nil)
		check(t, c.Leave(t.Context()))
		b.since()
		<-time.After(time.Minute)
		if n := b.since(); len(n) != 0 {
			t.Errorf("heartbeats after leaving: %v", n)
		}
	})
}

// TestServersThatFallSilent ends a worker that waits for nothing: its next call says which server and why, and one that
// waits is told at once.
func TestServersThatFallSilent(t *testing.T) {
	errCable := errors.New("the cable is pulled")
	tests := map[string]struct {
		err   error
		after time.Duration // the end comes by then
		says  string
	}{
		"silent":  {errCable, 32 * time.Second, "silent for 3"},
		"refuses": {transport.ErrRefused, time.Second, "(server-"},
		"stale":   {wire.Refuse(wire.StatusStale, "life 1 is over"), time.Second, "life 1 is over"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 2, 2, strategy.Async())
				j.serve(0, 1)
				b := &beats{n: map[string]int{}}
				c := j.join(0, &tap{Transport: j.net, before: b.before})
				waits := make(chan error, 1)
				go func() { // for a worker that never comes
					_, err := c.gathers.gather(t.Context(), "barrier", nil)
					waits <- err
				}()
				synctest.Wait()
				began := time.Now()
				b.fail(test.err)
				err := <-waits
				if !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, want %v that says %q", err, test.err, test.says)
				}
				if took := time.Since(began); took > test.after {
					t.Errorf("it was told after %v, want %v", took, test.after)
				}
				if err := c.EndEpoch(t.Context()); err != nil {
					t.Errorf("EndEpoch has nothing to send: %v", err)
				}
				if _, err := c.gathers.gather(t.Context(), "again", nil); !errors.Is(err, test.err) {
					t.Errorf("the next call: %v, want %v", err, test.err)
				}
			})
		})
	}
}

// TestHeartbeatsLostWithinTheTimeout loses every heartbeat for less than the timeout.
func TestHeartbeatsLostWithinTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Async())
		j.serve(0)
		b := &beats{n: map[string]int{}}
		c := j.join(0, &tap{Transport: j.net, before: b.before})
		b.fail(errors.New("lost"))
		<-time.After(25 * time.Second)
		b.fail(nil)
		<-time.After(25 * time.Second)
		if err := context.Cause(c.link.ctx); err != nil {
			t.Errorf("the client ended: %v", err)
		}
		th := open(t, c)
		th.train(1, []uint64{1}, nil)
		check(t, th.Close(t.Context()))
	})
}

// TestSleep stops a worker for longer than the worker timeout, with its server: the heartbeat under way makes no progress in that time
// and is lost. Nobody was silent while the worker ran, so that it goes on; a server that is silent from then on is lost as ever.
func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asleep, silent, ok := make(chan time.Duration, 1), new(atomic.Bool), status(wire.StatusOK, "")
		c := newJob(t, 1, 1, strategy.Async()).client(0, &script{lines: []func(context.Context, func([]byte) error) error{
			func(ctx context.Context, read func([]byte) error) error {
				select {
				case d := <-asleep:
					<-time.After(d)
					return errLost
				default:
				}
				if silent.Load() {
					return errLost
				}
				return ok(ctx, read)
			}}})
		c.link.besides.run(func() { c.link.beatTo(0) })
		for _, d := range []time.Duration{29 * time.Second, 31 * time.Second, time.Hour} {
			asleep <- d
			<-time.After(d + 5*time.Second)
			if err := context.Cause(c.link.ctx); err != nil {
				t.Fatalf("the worker slept for %v and ended: %v", d, err)
			}
		}
		silent.Store(true)
		began := time.Now()
		<-c.link.ctx.Done()
		if took := time.Since(began); took < 29*time.Second || took > 33*time.Second {
			t.Errorf("a server that fell silent was lost after %v", took)
		}
	})
}

// TestSlowPushIsLogged: a step that waits for another worker is in the log after ten seconds, and every thirty from then on.
func TestSlowPushIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		j := newJob(t, 1, 2, strategy.Sync())
		j.serve(0)
		j.log = &log
		c, other := j.join(0, nil), j.join(1, nil)
		th := open(t, c)
		done := make(chan struct{})
		go func() { defer close(done); th.train(1, []uint64{1}, nil) }()
		<-time.After(75 * time.Second)
		open(t, other).train(1, []uint64{1}, nil)
		<-done
		synctest.Wait() // for what still writes to the log
		got := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, waited := range []string{"10s", "40s", "1m10s"} {
			if i >= len(got) || !strings.Contains(got[i], "still waiting for a server") || !strings.Contains(got[i], "waited="+waited+" ") {
				t.Fatalf("line %d of the log does not say that it waits for %s:\n%s", i, waited, log.String())
			}
		}
	})
}
