package fleet_test

import (
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/strategy"
)

// effectsOnQueues are of what a worker of mode async does with gradients until they are sent, and with what is brought.
func effectsOnQueues() map[string]effect {
	async := []trial.Place{trial.InAsync}
	merging := func(s *strategy.Strategy) { s.MaxMergeVarNum, s.SendQueueSize, s.SendWaitTimes = 4, 4, 20 }
	return map[string]effect{
		"MaxMergeVarNum": {
			set: func(s *strategy.Strategy) { s.MaxMergeVarNum = 4 },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady, x.Steps, x.Latency = true, 100, 20*time.Millisecond
				for _, x.NoRows = range []bool{false, true} {
					for k, most := range map[int]int{0: 2 * 100, 4: 2 * (100/4 + 4), 20: 2 * (100/20 + 4)} {
						o := x.With(func(s *strategy.Strategy) { merging(s); s.MaxMergeVarNum, s.SendWaitTimes = k, 100*min(k, 1) }).Works(t)
						if got := o.Pushes; got > most || got < most/2 || k == 0 && got != most {
							t.Errorf("up to %d merged, no rows %t: %d pushes of 200 steps, want at most %d", k, x.NoRows, got, most)
						}
						if got, want := o.Value(t, "w"), 200*trial.Rate; got != want {
							t.Errorf("up to %d merged, no rows %t: a weight moves %v, want %v", k, x.NoRows, got, want)
						}
					}
				}
			},
		},
		"PushSamples": {
			set: func(s *strategy.Strategy) { s.PushSamples = 4 },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady, x.Steps = true, 100
				for _, x.NoRows = range []bool{false, true} {
					for samples, want := range map[int]int{1: 200, 4: 50, 1000: 10} { // 20 steps at most
						o := x.With(func(s *strategy.Strategy) { s.PushSamples = samples }).Works(t)
						if got := o.Pushes; got != want {
							t.Errorf("%d samples a push, no rows %t: %d pushes of 200 steps of one, want %d", samples, x.NoRows, got, want)
						}
						if got, want := o.Value(t, "w"), 200*trial.Rate; got != want {
							t.Errorf("%d samples a push, no rows %t: a weight moves %v, want %v", samples, x.NoRows, got, want)
						}
					}
				}
			},
		},
		"SendWaitTimes": {
			set: func(s *strategy.Strategy) { s.SendWaitTimes, s.MaxMergeVarNum = 20, 4 },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				// A step takes 10 ms and a call 1 ms, so that gradients which don't wait meet no other.
				x.Steady, x.Steps = true, 100
				for waits, want := range map[int][2]int{0: {190, 200}, 2: {100, 110}, 20: {50, 58}} {
					o := x.With(func(s *strategy.Strategy) { merging(s); s.SendWaitTimes = waits }).Works(t)
					if got := o.Pushes; got < want[0] || got > want[1] {
						t.Errorf("waiting %d0 ms: %d pushes of 200 steps, want %v", waits, got, want)
					}
					if got, want := o.Value(t, "w"), 200*trial.Rate; got != want {
						t.Errorf("waiting %d0 ms: a weight moves %v, want %v", waits, got, want)
					}
				}
			},
		},
		"SendQueueSize": {
			set: func(s *strategy.Strategy) { s.SendQueueSize = 8 },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				// A push takes far longer than a step, so that the loop waits until the queue has room. The first step brings the weights.
				x.NoRows, x.Pace, x.Latency = true, []time.Duration{time.Millisecond, 1100 * time.Microsecond}, 200*time.Millisecond
				for size, waits := range map[int]int{1: trial.Steps - 2, 4: trial.Steps - 5, 8: trial.Steps - 9} {
					o := x.With(func(s *strategy.Strategy) { s.SendQueueSize = size }).Works(t)
					if got, want := o.Looped[0], time.Duration(waits)*x.Latency; got < want || got > want+5*x.Latency/2 {
						t.Errorf("with room for %d the loop takes %v, want %v", size, got, want)
					}
				}
			},
		},
		"ThreadPoolSize": {
			set: func(s *strategy.Strategy) { s.ThreadPoolSize = 4 },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				x.NoRows, x.Pace, x.Latency = true, []time.Duration{time.Millisecond, 1100 * time.Microsecond}, 200*time.Millisecond
				takes := func(pool int) time.Duration {
					return x.With(func(s *strategy.Strategy) { s.ThreadPoolSize = pool }).Works(t).When["worker 0"]
				}
				if sooner, want := takes(1)-takes(4), (trial.Steps-trial.Steps/4)*x.Latency; !trial.Near(float64(sooner), float64(want), 0.15) {
					t.Errorf("all is sent %v sooner by 4 requests at a time, want %v", sooner, want)
				}
			},
		},
		"IndependentRecvThread": {
			set: func(s *strategy.Strategy) { s.IndependentRecvThread = true },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				with, own := x.Works(t), x.With(func(s *strategy.Strategy) { s.IndependentRecvThread = true }).Works(t)
				if more := own.Net.Calls - with.Net.Calls; more < 2*2*(trial.Steps-2) {
					t.Errorf("%d requests, with those that bring dense weights alone %d", with.Net.Calls, own.Net.Calls)
				}
				if a, b := with.Net.Received, own.Net.Received; !trial.Near(float64(b), float64(a), 0.3) {
					t.Errorf("%d bytes are received, and %d by requests of their own: answers to pushes bring dense weights too", a, b)
				}
			},
		},
		"MinSendGradNumBeforeRecv": {
			set: func(s *strategy.Strategy) { s.MinSendGradNumBeforeRecv = 4 },
			in:  async,
			shows: func(t *testing.T, x trial.Trial) {
				x.Wide, x.Steps = 40_000, 40
				fewer(t, "bytes received", x.With(func(s *strategy.Strategy) { s.MinSendGradNumBeforeRecv = 4 }).Works(t).Net.Received, x.Works(t).Net.Received, 0.4)
			},
		},
		"Merge": {
			set: func(s *strategy.Strategy) {
				if s.Merge = strategy.MergeMean; s.Mode == strategy.ModeAsync {
					s.MaxMergeVarNum = 4
				}
			},
			in: []trial.Place{trial.InAsync, trial.InHalfAsync},
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady, x.Threads = true, 1
				if x.Place == trial.InHalfAsync {
					x.Threads = 2
				}
				for merge, sums := range map[strategy.Merge]bool{"": x.Place == trial.InAsync, strategy.MergeSum: true, strategy.MergeMean: false} {
					o := x.With(func(s *strategy.Strategy) {
						if s.Merge = merge; x.Place == trial.InAsync {
							merging(s)
						}
					}).Works(t)
					want := float64(o.Pushes)
					if all := float64(2 * trial.Steps * x.Threads); want > 0.6*all {
						t.Errorf("%v pushes of %v steps", want, all)
					} else if sums {
						want = all
					}
					if got := o.Value(t, "w"); got != want*trial.Rate {
						t.Errorf("%q: a weight moves %v, want %v", merge, got, want*trial.Rate)
					}
				}
			},
		},
	}
}
