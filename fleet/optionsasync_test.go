package fleet_test

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/strategy"
)

// effectsOnQueues are of what a worker of mode async does with gradients until they are sent, and with what is brought.
func effectsOnQueues() map[string]effect {
	async := []place{inAsync}
	merging := func(s *strategy.Strategy) { s.MaxMergeVarNum, s.SendQueueSize, s.SendWaitTimes = 4, 4, 20 }
	return map[string]effect{
		"MaxMergeVarNum": {
			set: func(s *strategy.Strategy) { s.MaxMergeVarNum = 4 },
			in:  async,
			shows: func(t *testing.T, x trial) {
				x.steady, x.steps, x.latency = true, 100, 20*time.Millisecond
				for _, x.noRows = range []bool{false, true} {
					for k, most := range map[int]int{0: 2 * 100, 4: 2 * (100/4 + 4), 20: 2 * (100/20 + 4)} {
						o := x.with(func(s *strategy.Strategy) { merging(s); s.MaxMergeVarNum, s.SendWaitTimes = k, 100*min(k, 1) }).works(t)
						if got := o.pushes; got > most || got < most/2 || k == 0 && got != most {
							t.Errorf("up to %d merged, no rows %t: %d pushes of 200 steps, want at most %d", k, x.noRows, got, most)
						}
						if got, want := o.value(t, "w"), 200*trialRate; got != want {
							t.Errorf("up to %d merged, no rows %t: a weight moves %v, want %v", k, x.noRows, got, want)
						}
					}
				}
			},
		},
		"SendWaitTimes": {
			set: func(s *strategy.Strategy) { s.SendWaitTimes, s.MaxMergeVarNum = 20, 4 },
			in:  async,
			shows: func(t *testing.T, x trial) {
				// A step takes 10 ms and a call 1 ms, so that gradients which don't wait meet no other.
				x.steady, x.steps = true, 100
				for waits, want := range map[int][2]int{0: {190, 200}, 2: {100, 110}, 20: {50, 58}} {
					o := x.with(func(s *strategy.Strategy) { merging(s); s.SendWaitTimes = waits }).works(t)
					if got := o.pushes; got < want[0] || got > want[1] {
						t.Errorf("waiting %d0 ms: %d pushes of 200 steps, want %v", waits, got, want)
					}
					if got, want := o.value(t, "w"), 200*trialRate; got != want {
						t.Errorf("waiting %d0 ms: a weight moves %v, want %v", waits, got, want)
					}
				}
			},
		},
		"SendQueueSize": {
			set: func(s *strategy.Strategy) { s.SendQueueSize = 8 },
			in:  async,
			shows: func(t *testing.T, x trial) {
				// A push takes far longer than a step, so that the loop waits until the queue has room.
				x.noRows, x.pace, x.latency = true, []time.Duration{time.Millisecond, 1100 * time.Microsecond}, 200*time.Millisecond
				for size, waits := range map[int]int{1: trialSteps - 2, 4: trialSteps - 5, 8: trialSteps - 9} {
					o := x.with(func(s *strategy.Strategy) { s.SendQueueSize = size }).works(t)
					if got, want := o.looped[0], time.Duration(waits)*x.latency; got < want || got > want+3*x.latency/2 {
						t.Errorf("with room for %d the loop takes %v, want %v", size, got, want)
					}
				}
			},
		},
		"ThreadPoolSize": {
			set: func(s *strategy.Strategy) { s.ThreadPoolSize = 4 },
			in:  async,
			shows: func(t *testing.T, x trial) {
				x.noRows, x.pace, x.latency = true, []time.Duration{time.Millisecond, 1100 * time.Microsecond}, 200*time.Millisecond
				takes := func(pool int) time.Duration {
					return x.with(func(s *strategy.Strategy) { s.ThreadPoolSize = pool }).works(t).when["worker 0"]
				}
				if sooner, want := takes(1)-takes(4), (trialSteps-trialSteps/4)*x.latency; !near(float64(sooner), float64(want), 0.15) {
					t.Errorf("all is sent %v sooner by 4 requests at a time, want %v", sooner, want)
				}
			},
		},
		"IndependentRecvThread": {
			set: func(s *strategy.Strategy) { s.IndependentRecvThread = true },
			in:  async,
			shows: func(t *testing.T, x trial) {
				with, own := x.works(t), x.with(func(s *strategy.Strategy) { s.IndependentRecvThread = true }).works(t)
				if more := own.net.Calls - with.net.Calls; more < 2*2*(trialSteps-2) {
					t.Errorf("%d requests, with those that bring dense weights alone %d", with.net.Calls, own.net.Calls)
				}
				if a, b := with.net.Received, own.net.Received; !near(float64(b), float64(a), 0.3) {
					t.Errorf("%d bytes are received, and %d by requests of their own: answers to pushes bring dense weights too", a, b)
				}
			},
		},
		"MinSendGradNumBeforeRecv": {
			set: func(s *strategy.Strategy) { s.MinSendGradNumBeforeRecv = 4 },
			in:  async,
			shows: func(t *testing.T, x trial) {
				x.wide, x.steps = 40_000, 40
				fewer(t, "bytes received", x.with(func(s *strategy.Strategy) { s.MinSendGradNumBeforeRecv = 4 }).works(t).net.Received, x.works(t).net.Received, 0.4)
			},
		},
		"Merge": {
			set: func(s *strategy.Strategy) {
				if s.Merge = strategy.MergeMean; s.Mode == strategy.ModeAsync {
					s.MaxMergeVarNum = 4
				}
			},
			in: []place{inAsync, inHalfAsync},
			shows: func(t *testing.T, x trial) {
				x.steady, x.threads = true, 1
				if x.place == inHalfAsync {
					x.threads = 2
				}
				for merge, sums := range map[strategy.Merge]bool{"": x.place == inAsync, strategy.MergeSum: true, strategy.MergeMean: false} {
					o := x.with(func(s *strategy.Strategy) {
						if s.Merge = merge; x.place == inAsync {
							merging(s)
						}
					}).works(t)
					want := float64(o.pushes)
					if all := float64(2 * trialSteps * x.threads); want > 0.6*all {
						t.Errorf("%v pushes of %v steps", want, all)
					} else if sums {
						want = all
					}
					if got := o.value(t, "w"); got != want*trialRate {
						t.Errorf("%q: a weight moves %v, want %v", merge, got, want*trialRate)
					}
				}
			},
		},
	}
}
