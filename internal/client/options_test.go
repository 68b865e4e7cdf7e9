package client

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestPushesUnderWay holds back every push of an async worker: as many are under way as ThreadPoolSize says, and the training loop
// goes on for SendQueueSize steps more.
func TestPushesUnderWay(t *testing.T) {
	for _, size := range []struct{ pool, queue int }{{1, 1}, {3, 1}, {1, 4}, {3, 4}} {
		t.Run(fmt.Sprint(size.pool, " requests, ", size.queue, " waiting"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Strategy{ThreadPoolSize: size.pool, SendQueueSize: size.queue})
				j.serve(0)
				slow := make(chan struct{})
				var travelling atomic.Int64
				th := open(t, j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
					if h.Samples > 0 {
						travelling.Add(1)
						<-slow
					}
					return nil
				}}))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				ended := 0
				for th.End(ctx, th.step(1, []uint64{1}, nil)) == nil {
					ended++
					synctest.Wait()
				}
				if got := int(travelling.Load()); got != size.pool || ended != size.pool+size.queue {
					t.Errorf("%d pushes under way and %d steps ended, want %d and %d", got, ended, size.pool, size.pool+size.queue)
				}
				close(slow)
				check(t, th.Close(t.Context()))
			})
		})
	}
}

// TestWhenDenseWeightsCome pushes gradients of 1 and looks at the weights that each next step begins with, and at how they came.
func TestWhenDenseWeightsCome(t *testing.T) {
	for _, c := range []struct {
		s        strategy.Strategy
		want     []float32 // after each push
		requests int       // that only bring
	}{
		{strategy.Strategy{}, []float32{-1, -2, -3, -4, -5, -6}, 0},
		{strategy.Strategy{MinSendGradNumBeforeRecv: 3}, []float32{0, 0, -3, -3, -3, -6}, 0},
		{strategy.Strategy{IndependentRecvThread: true}, []float32{-1, -2, -3, -4, -5, -6}, 6},
		{strategy.Strategy{IndependentRecvThread: true, MinSendGradNumBeforeRecv: 3}, []float32{0, 0, -3, -3, -3, -6}, 2},
	} {
		t.Run(fmt.Sprintf("own thread %t, every %d", c.s.IndependentRecvThread, c.s.MinSendGradNumBeforeRecv), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, c.s)
				j.serve(0)
				var only atomic.Int64
				th := open(t, j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
					if h.Op == wire.OpStep && h.Samples == 0 {
						only.Add(1)
					}
					return nil
				}}))
				only.Store(0) // joining brought the first weights
				for i := range len(c.want) + 1 {
					st := th.step(1, []uint64{1}, nil)
					check(t, th.Begin(t.Context(), st))
					if i > 0 && th.params[0].W[0] != c.want[i-1] {
						t.Errorf("after push %d weights are %v, want %v", i, th.params[0].W[0], c.want[i-1])
					}
					if i < len(c.want) {
						check(t, th.End(t.Context(), st))
						synctest.Wait()
					}
				}
				if got := int(only.Load()) - len(c.want) - 1; got != c.requests { // each Begin asks for rows
					t.Errorf("%d requests brought dense weights alone, want %d", got, c.requests)
				}
			})
		})
	}
}
