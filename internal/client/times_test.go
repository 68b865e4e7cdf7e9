package client

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestSilenceLastsAsTheStrategySays loses every message from a moment on, with timeouts that are not the default: a call that is made
// then, and one that waits for another worker, end when the servers were silent for so long.
func TestSilenceLastsAsTheStrategySays(t *testing.T) {
	errCable := errors.New("the cable is pulled")
	for _, limit := range []time.Duration{4 * time.Second, 2 * time.Minute} {
		t.Run(limit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := strategy.Async()
				s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(limit), strategy.Duration(limit/4)
				j := newJob(t, 1, 2, s)
				j.serve(0)
				pulled := make(chan struct{})
				net := &tap{Transport: j.net, before: func(string, wire.Header) error {
					select {
					case <-pulled:
						return errCable
					default:
						return nil
					}
				}}
				c, other := j.join(0, net), j.client(1, &script{lines: []func(context.Context, func([]byte) error) error{lost}})
				ends := make(chan time.Duration, 2)
				began := time.Now()
				go func() {
					_, err := c.gathers.gather(t.Context(), "for a worker that never comes", nil)
					if !errors.Is(err, errCable) {
						t.Errorf("a call that waits: %v", err)
					}
					ends <- time.Since(began)
				}()
				go func() {
					if err := other.link.control(t.Context(), 0, wire.OpHeartbeat, nil, nil); !errors.Is(err, errLost) {
						t.Errorf("a call: %v", err)
					}
					ends <- time.Since(began)
				}()
				synctest.Wait()
				close(pulled)
				for range cap(ends) {
					if took := <-ends; took < limit || took > limit+limit/2 {
						t.Errorf("a call took %v, the strategy says %v", took, limit)
					}
				}
			})
		})
	}
}

// TestThreadsWaitAsTheStrategySays has one of two training threads end its step, and the other not.
func TestThreadsWaitAsTheStrategySays(t *testing.T) {
	for _, limit := range []time.Duration{7 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			s := strategy.HalfAsync()
			s.WaitTimeout = strategy.Duration(limit)
			j := newJob(t, 1, 1, s)
			j.serve(0)
			c := j.join(0, nil)
			th, other := open(t, c), open(t, c)
			st := th.step(1, []uint64{1}, nil)
			check(t, th.Begin(t.Context(), st))
			check(t, other.Begin(t.Context(), other.step(1, []uint64{1}, nil)))
			began := time.Now()
			err := th.End(t.Context(), st)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "(1 of 2 have)") {
				t.Errorf("got %v, want the deadline, and who is waited for", err)
			}
			if took := time.Since(began); took != limit {
				t.Errorf("it took %v, the strategy says %v", took, limit)
			}
		})
	}
}
