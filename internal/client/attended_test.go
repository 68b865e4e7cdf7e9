package client

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestAThreadThatComesAtOnce begins each step right after the one before, whether its batch was known then or not: the thread makes
// the request itself, with the gradient, and sees that.
func TestAThreadThatComesAtOnce(t *testing.T) {
	// Serial: it sets GOMAXPROCS, so that no sender comes first.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, next := range [][]uint64{nil, {7}} {
		synctest.Test(t, func(t *testing.T) {
			const steps = 50
			j := newJob(t, 1, 1, strategy.Async())
			j.serve(0)
			var trips, own atomic.Int64
			c := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
				if h.Op == wire.OpStep {
					trips.Add(1)
				}
				if stack := make([]byte, 1<<14); h.Samples > 0 && strings.Contains(string(stack[:runtime.Stack(stack, false)]), "(*thread).train") {
					own.Add(1)
				}
				return nil
			}})
			trips.Store(0)
			th := open(t, c)
			for i := range steps {
				st := th.train(1, []uint64{7}, next)
				all(t, "rows that a step begins with", st.Rows[0].W, -float32(i))
			}
			check(t, c.drain(t.Context()))
			if trips, own := trips.Load(), own.Load(); trips > steps+steps/2 || own < steps/2 { // a thread may be preempted
				t.Errorf("next %d: %d steps took %d requests, %d gradients were pushed by the thread", next, steps, trips, own)
			}
		})
	}
}

// slowly answers steps after a while, while that is set.
type slowly struct {
	*tap
	slow  *atomic.Bool
	after time.Duration
}

func (s slowly) Call(ctx context.Context, endpoint string, req [][]byte, read func([]byte) error) error {
	if s.slow.Load() && wire.OpOf(req[0]) == wire.OpStep {
		select {
		case <-time.After(s.after):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return s.tap.Call(ctx, endpoint, req, read)
}

// TestTheThreadsOwnRequestEnds ends the context of a step that begins, whose request the thread makes itself: a pull alone ends at
// once and harms nothing, one that takes a gradient along goes on for a heartbeat's interval.
func TestTheThreadsOwnRequestEnds(t *testing.T) {
	// Serial: it sets GOMAXPROCS, so that no sender comes first.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	interval := strategy.Async().WithDefaults().HeartbeatInterval.Std()
	for name, test := range map[string]struct {
		push   bool          // a gradient waits
		answer time.Duration // after the end of the context
		took   time.Duration
		want   error
		says   string // of the session's end
	}{
		"pull":            {answer: time.Hour, want: context.DeadlineExceeded},
		"push":            {push: true, answer: time.Hour, took: interval, want: context.DeadlineExceeded, says: "may be missing at the servers: 1"},
		"push, answered":  {push: true, answer: interval / 2, took: interval / 2},
		"ended before":    {took: -time.Second, want: context.DeadlineExceeded},
		"ended with push": {push: true, took: -time.Second, want: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const end = time.Second
				j := newJob(t, 1, 1, strategy.Async())
				j.serve(0)
				var slow atomic.Bool
				c := j.join(0, slowly{&tap{Transport: j.net}, &slow, end + test.answer})
				th := open(t, c)
				check(t, th.Begin(t.Context(), th.step(1, []uint64{1}, nil)))
				ctx, cancel := context.WithTimeout(t.Context(), end)
				defer cancel()
				began := time.Now()
				if test.took < 0 {
					cancel()
					ctx, cancel = context.WithDeadline(t.Context(), began)
					defer cancel()
				}
				slow.Store(test.took >= 0)
				if test.push {
					check(t, th.End(t.Context(), th.step(1, []uint64{1}, nil)))
				}
				err := th.Begin(ctx, th.step(1, []uint64{1}, nil))
				if took := time.Since(began); !errors.Is(err, test.want) || took != end+test.took {
					t.Errorf("%v after %v, want %v after %v", err, took, test.want, end+test.took)
				}
				slow.Store(false)
				err = th.Close(t.Context())
				if says := ""; err != nil || test.says != "" {
					if says = err.Error(); test.says == "" || !strings.Contains(says, test.says) {
						t.Errorf("at its end the session says %q, want %q", says, test.says)
					}
					return
				}
				pushed := float32(0)
				if test.push {
					pushed = 1
				}
				all(t, "weights", open(t, c).peek(1), -pushed)
			})
		})
	}
}
