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
// goes on until SendQueueSize pushes wait, each of MaxMergeVarNum steps. None of the steps is lost.
func TestPushesUnderWay(t *testing.T) {
	for _, size := range []struct{ pool, queue, merged int }{{1, 1, 1}, {3, 1, 1}, {1, 4, 1}, {3, 4, 1}, {1, 2, 4}, {2, 2, 4}} {
		t.Run(fmt.Sprintf("%d requests, %d waiting, %d merged", size.pool, size.queue, size.merged), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Strategy{ThreadPoolSize: size.pool, SendQueueSize: size.queue, MaxMergeVarNum: size.merged, Merge: strategy.MergeSum})
				j.serve(0)
				slow := make(chan struct{})
				var travelling atomic.Int64
				c := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
					if h.Samples > 0 {
						travelling.Add(1)
						<-slow
					}
					return nil
				}})
				th, ended := open(t, c), 0
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				for th.End(ctx, th.step(1, []uint64{1}, nil)) == nil {
					ended++
				}
				if got, want := int(travelling.Load()), size.pool+size.queue*size.merged; got != size.pool || ended != want {
					t.Errorf("%d pushes under way and %d steps ended, want %d and %d", got, ended, size.pool, want)
				}
				close(slow)
				check(t, th.Close(t.Context()))
				all(t, "weights", open(t, c).peek(1), -float32(ended))
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
