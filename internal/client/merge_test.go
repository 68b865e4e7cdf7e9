package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofleet/gofleet/internal/wire"
	"github.com/gofleet/gofleet/strategy"
)

// TestWaitingGradientsAreMerged holds back the first push: those that follow are merged, up to three a push. Steps of one
// sample have gradients of 1, those of three samples of 5.
func TestWaitingGradientsAreMerged(t *testing.T) {
	for merge, want := range map[strategy.Merge]float32{
		strategy.MergeSum: -(1 + (1 + 5 + 1) + 5), strategy.MergeMean: -(1 + (1+3*5+1)/5. + 5),
	} {
		t.Run(string(merge), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJob(t, 1, 1, strategy.Strategy{Merge: merge, MaxMergeVarNum: 3, SendQueueSize: 2})
				j.serve(0)
				slow, pushes := make(chan struct{}), 0
				c := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
					if h.Samples > 0 {
						pushes++
						<-slow
					}
					return nil
				}})
				th := open(t, c)
				for i, g := range []float32{1, 1, 5, 1, 5} {
					st := th.step(g, []uint64{uint64(i % 2)}, nil)
					if st.Samples = 1; g == 5 {
						st.Samples = 3
					}
					check(t, th.End(t.Context(), st))
					synctest.Wait()
				}
				close(slow)
				check(t, c.drain(t.Context()))
				if pushes != 3 {
					t.Errorf("%d pushes, want 3", pushes)
				}
				peek := open(t, c)
				_ = peek.peek(0)
				if got := peek.params[0].W[0]; got != want {
					t.Errorf("weights are %v, want %v", got, want)
				}
				counts := c.Counts()
				if counts.Steps != 5 {
					t.Errorf("%d steps were counted, want 5", counts.Steps)
				}
			})
		})
	}
}

// TestAGradientWaitsForOthers: with SendWaitTimes a gradient is not sent before its time, unless others join it.
func TestAGradientWaitsForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJob(t, 1, 1, strategy.Strategy{Merge: strategy.MergeSum, MaxMergeVarNum: 2, SendQueueSize: 4, SendWaitTimes: 3})
		j.serve(0)
		var at []time.Duration
		start := time.Now()
		c := j.join(0, &tap{Transport: j.net, before: func(_ string, h wire.Header) error {
			if h.Samples > 0 {
				at = append(at, time.Since(start))
			}
			return nil
		}})
		th := open(t, c)
		synctest.Wait()
		start = time.Now()
		push := func() { check(t, th.End(t.Context(), th.step(1, []uint64{1}, nil))) }
		push()
		time.Sleep(5 * time.Millisecond)
		push() // joins it: both go
		time.Sleep(50 * time.Millisecond)
		push() // alone: goes after 30 ms
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if len(at) != 2 || at[0] != 5*time.Millisecond || at[1] != 85*time.Millisecond {
			t.Errorf("pushes went at %v, want 5ms and 85ms", at)
		}
		push()
		check(t, c.drain(t.Context())) // waits for nobody
		synctest.Wait()
		if len(at) != 3 || at[2] != 155*time.Millisecond {
			t.Errorf("pushes went at %v, the last want 155ms", at)
		}
	})
}
