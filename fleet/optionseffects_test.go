package fleet_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
)

// effects are what the fields of a strategy do, by name.
func effects() map[string]effect {
	all := map[string]effect{}
	for _, some := range []map[string]effect{effectsOnModes(), effectsOnPlaces(), effectsOnMessages(), effectsOnTimes(), effectsOnGradients(),
		effectsOnMeetings(), effectsOnQueues(), effectsOnStaleness(), effectsOnRecovery()} {
		for name, e := range some {
			all[name] = e
		}
	}
	return all
}

// fewer fails the test unless one number is at most that part of another.
func fewer[T int | int64 | float64 | time.Duration](t *testing.T, what string, with, without T, part float64) {
	t.Helper()
	if !(float64(with) <= part*float64(without)) {
		t.Errorf("%s: %v with the option, %v without", what, with, without)
	}
}

func effectsOnModes() map[string]effect {
	return map[string]effect{
		"Mode": {
			set: func(s *strategy.Strategy) { s.Mode = strategy.ModeSync },
			in:  trial.Clusters,
			shows: func(t *testing.T, x trial.Trial) {
				// Worker 0, whose steps take a third of worker 1's, waits for it or not; the pushes of a step, or the gradients
				// of a worker's threads, become one or each counts; and there is a push for each step and worker, or fewer.
				x.Steady, x.Pace, x.Latency = true, []time.Duration{50 * time.Millisecond, 150 * time.Millisecond}, 20*time.Millisecond
				if x.Threads = 1; x.Place == trial.InAsync || x.Place == trial.InHalfAsync {
					x.Threads = 2
				}
				type seen struct{ waits, averages, few bool }
				o, all := x.Works(t), 2*trial.Steps*x.Threads
				got := seen{o.Looped[0] > 2*trial.Steps*x.Pace[0], o.Value(t, "w") < float64(all)*trial.Rate, o.Steps() < int64(all)}
				want := map[string]seen{"sync": {waits: true, averages: true}, "collective": {waits: true, averages: true}, "async": {},
					"half_async": {averages: true}, "ssp": {waits: true}, "geo": {few: true}}[x.Name]
				if got != want {
					t.Errorf("got %+v, want %+v: %v, weights %v, %d pushes", got, want, o.Looped, o.Value(t, "w"), o.Steps())
				}
			},
		},
		"Staleness": {
			set: func(s *strategy.Strategy) { s.Staleness = 3 },
			in:  []trial.Place{trial.InSSP},
			shows: func(t *testing.T, x trial.Trial) {
				x.Pace = []time.Duration{time.Millisecond, 100 * time.Millisecond}
				in, ahead := x.Works(t), x.With(func(s *strategy.Strategy) { s.Staleness = 3 }).Works(t)
				if earlier := in.Looped[0] - ahead.Looped[0]; !trial.Near(float64(earlier), float64(300*time.Millisecond), 0.1) {
					t.Errorf("the faster worker ends %v earlier, 3 steps are 300 ms", earlier)
				}
			},
		},
		"KSteps": {
			set: func(s *strategy.Strategy) { s.KSteps = 3 },
			in:  []trial.Place{trial.InGeo},
			shows: func(t *testing.T, x trial.Trial) {
				seldom := x.Works(t)
				for _, k := range []int{3, 4} {
					o := x.With(func(s *strategy.Strategy) { s.KSteps = k }).Works(t)
					if more, want := o.Steps()-seldom.Steps(), int64(2*trial.Steps/k); more < want-2 || more > want {
						t.Errorf("every %d steps: %d exchanges more than every 100, want %d", k, more, want)
					}
				}
			},
		},
		"GeoRest": {
			set: func(s *strategy.Strategy) { s.GeoRest = strategy.GeoRestKeep },
			in:  []trial.Place{trial.InGeo},
			shows: func(t *testing.T, x trial.Trial) {
				// Two exchanges: a share of what is trained in the first four steps only goes with the first, what is left of it
				// with the second or never, and what the second leaves at the end or never.
				x.Steady, x.Steps, x.Strategy.KSteps = true, 8, 4
				for rest, part := range map[strategy.GeoRest]float64{"": 1, strategy.GeoRestSend: 1, strategy.GeoRestKeep: 0.5} {
					o := x.With(func(s *strategy.Strategy) { s.GeoRest = rest }).Works(t)
					if got, want := o.Row(t, 3), 2*part*trial.Rate; !trial.Near(got, want, 1e-5) {
						t.Errorf("%q: a row that changes no more is %v, want %v", rest, got, want)
					}
					if got, full := o.Value(t, "w"), 2*8*trial.Rate; (got == full) != (part == 1) || got > full {
						t.Errorf("%q: a weight is %v of %v", rest, got, full)
					}
				}
			},
		},
	}
}

func effectsOnPlaces() map[string]effect {
	planned := func(t *testing.T, o trial.Outcome) (policy string, at map[string][]int) {
		at = map[string][]int{}
		for _, b := range o.Plan.Blocks {
			at[b.Var] = append(at[b.Var], b.Server)
		}
		return o.Plan.Policy, at
	}
	return map[string]effect{
		"Placement": {
			set: func(s *strategy.Strategy) { s.Placement = "LastServer" },
			in:  trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) {
				shared := x.Works(t)
				o := x.With(func(s *strategy.Strategy) { s.Placement = "LastServer" }).Works(t)
				fewer(t, "bytes to the first server, of the model's", o.To["server-0:1"], o.To["server-1:1"], 0.5)
				if a, b := shared.To["server-0:1"], shared.To["server-1:1"]; !trial.Near(float64(a), float64(b), 0.2) {
					t.Errorf("RoundRobin sends %d bytes to one server and %d to the other", a, b)
				}
				for _, p := range placement.Policies() {
					if reflect.TypeOf(p).NumField() > 0 {
						t.Errorf("nothing shows what the fields of %T do", p)
					}
					o := x.With(func(s *strategy.Strategy) { s.Placement = p.Name() }).Works(t)
					var blocks []placement.Block
					var got []int
					for _, b := range o.Plan.Blocks {
						blocks, got = append(blocks, b.Block), append(got, b.Server)
					}
					if want := p.Place(blocks, x.Servers); o.Plan.Policy != p.Name() || !slices.Equal(got, want) {
						t.Errorf("blocks lie at %v by %s, want %v by %s", got, o.Plan.Policy, want, p.Name())
					}
				}
			},
		},
		"NoSlice": {
			set: func(s *strategy.Strategy) { s.NoSlice = true },
			in:  trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) {
				cut, whole := x.Works(t), x.With(func(s *strategy.Strategy) { s.NoSlice = true }).Works(t)
				_, a := planned(t, cut)
				_, b := planned(t, whole)
				if len(a["wide"]) != 2 || len(b["wide"]) != 1 {
					t.Errorf("20,000 weights lie at %v, not sliced at %v", a["wide"], b["wide"])
				}
				if small, large := min(whole.To["server-0:1"], whole.To["server-1:1"]), max(whole.To["server-0:1"], whole.To["server-1:1"]); small > large/2 {
					t.Errorf("the whole variable's bytes go to both servers: %d and %d", small, large)
				}
			},
		},
		"MinBlockSize": {
			set: func(s *strategy.Strategy) { s.MinBlockSize = 15_000 },
			in:  trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) {
				for least, want := range map[int]int{0: 2, 10_000: 2, 15_000: 1} {
					_, at := planned(t, x.With(func(s *strategy.Strategy) { s.MinBlockSize = least }).Works(t))
					if len(at["wide"]) != want {
						t.Errorf("20,000 weights in blocks of at least %d lie at %v, want %d blocks", least, at["wide"], want)
					}
				}
			},
		},
		"SmallBlocks": {
			set: func(s *strategy.Strategy) { s.SmallBlocks, s.MinBlockSize = true, 4 },
			in:  trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) {
				if err := x.With(func(s *strategy.Strategy) { s.MinBlockSize = 4 }).Refusal(t); err == nil || !strings.Contains(err.Error(), "small_blocks") {
					t.Errorf("blocks of 4 without leave: %v", err)
				}
				if _, at := planned(t, x.With(func(s *strategy.Strategy) { s.SmallBlocks, s.MinBlockSize = true, 4 }).Works(t)); len(at["w"]) != 2 {
					t.Errorf("21 weights in small blocks lie at %v", at["w"])
				}
			},
		},
	}
}

func effectsOnMessages() map[string]effect {
	return map[string]effect{
		"Codec": {
			set: func(s *strategy.Strategy) { s.Codec = "zstd" },
			in:  trial.Clusters,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady = true
				plain := x.Works(t)
				for _, codec := range []string{"none", "s2", "zstd", "gzip"} {
					o := x.With(func(s *strategy.Strategy) { s.Codec = codec }).Works(t)
					if !bytes.Equal(plain.Model, o.Model) {
						t.Errorf("%s: weights differ", codec)
					}
					if codec == "none" {
						continue
					}
					fewer(t, codec+": bytes sent", o.Net.Sent, plain.Net.Sent, 0.5)
					fewer(t, codec+": bytes of answers", o.Net.Received, plain.Net.Received, 0.5)
				}
			},
		},
		"Payload": {
			set: func(s *strategy.Strategy) { s.Payload = strategy.PayloadInt8 },
			in:  trial.Pushing,
			shows: func(t *testing.T, x trial.Trial) {
				x.Wide = 40_000 // beside which the rest of a message is small
				full := x.Works(t)
				for payload, part := range map[strategy.Payload]float64{strategy.PayloadFloat32: 1.01, strategy.PayloadFloat16: 0.55,
					strategy.PayloadBFloat16: 0.55, strategy.PayloadInt8: 0.3} {
					o := x.With(func(s *strategy.Strategy) { s.Payload = payload }).Works(t)
					fewer(t, string(payload)+": bytes to servers", o.To["server-0:1"]+o.To["server-1:1"], full.To["server-0:1"]+full.To["server-1:1"], part)
					if far := apartBy(t, full, o); far > 0.05 || (far == 0) != (payload == strategy.PayloadFloat32) {
						t.Errorf("%s: weights are %g away", payload, far)
					}
				}
			},
		},
		"MaxFrame": {
			set: func(s *strategy.Strategy) { s.MaxFrame = 4096 },
			in:  trial.WithServers,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady, x.More = true, 500
				whole, pieces := x.Works(t), x.With(func(s *strategy.Strategy) { s.MaxFrame = 4096 }).Works(t)
				fewer(t, "calls, in whole frames", whole.Net.Calls, pieces.Net.Calls, 0.3)
				if whole.Most < 20_000 || pieces.Most > 4096 {
					t.Errorf("the largest message has %d bytes, with the bound %d", whole.Most, pieces.Most)
				}
				if far := apartBy(t, whole, pieces); far != 0 {
					t.Errorf("weights are %g away", far)
				}
			},
		},
		"MaxMemory": { // TestMemoryBoundsTables
			set: func(s *strategy.Strategy) { s.MaxMemory = 0.8 },
			in:  trial.Pushing,
			shows: func(t *testing.T, x trial.Trial) {
				// Each server says by how much its table is bounded, or why it is not on this machine.
				var log trial.Log
				x.Logger = log.Logger()
				x.With(func(s *strategy.Strategy) { s.MaxMemory = 0.8 }).Works(t)
				if said := log.Lines("max_memory"); len(said) != x.Servers {
					t.Errorf("%d servers say of max_memory %q", x.Servers, said)
				}
			},
		},
	}
}

// apartBy is the largest difference between the weights of two trials.
func apartBy(t *testing.T, a, b trial.Outcome) (far float64) {
	t.Helper()
	for _, name := range []string{"w", "wide", "rows"} {
		x, y := a.Values(t, name), b.Values(t, name)
		for i := range x {
			far = max(far, math.Abs(float64(x[i]-y[i])))
		}
	}
	return far
}

func effectsOnTimes() map[string]effect {
	// later says how much later a role ends when a time is longer.
	factor := strategy.Duration(1)
	later := func(t *testing.T, x trial.Trial, role string, short strategy.Duration, field func(*strategy.Strategy) *strategy.Duration) {
		t.Helper()
		const more = strategy.Duration(3 * time.Minute)
		ends := func(d strategy.Duration) time.Duration {
			x := x.With(func(s *strategy.Strategy) { s.HeartbeatInterval = strategy.Duration(5 * time.Second); *field(s) = d })
			o := x.Run(t)
			if o.Errs[role] == nil || o.When[role] < d.Std() {
				t.Errorf("after %v %s ended with error %v, the time is %v", o.When[role], role, o.Errs[role], d)
			}
			return o.When[role]
		}
		if got := ends(short+more) - ends(short); !trial.Near(float64(got), float64(factor*more), 0.3) {
			t.Errorf("%s ends %v later, want about %v", role, got, factor*more)
		}
	}
	return map[string]effect{
		"HeartbeatInterval": {
			set: func(s *strategy.Strategy) { s.HeartbeatInterval = strategy.Duration(10 * time.Second) },
			in:  trial.Clusters,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steps, x.Pace = 3, []time.Duration{time.Millisecond, 20 * time.Second}
				often, seldom := x.Works(t), x.With(func(s *strategy.Strategy) { s.HeartbeatInterval = strategy.Duration(10 * time.Second) }).Works(t)
				if less := often.Net.Calls - seldom.Net.Calls; less < 40 || less > 6*60 {
					t.Errorf("in a minute %d calls, with heartbeats every 10 s %d", often.Net.Calls, seldom.Net.Calls)
				}
			},
		},
		"WorkerTimeout": {
			set: func(s *strategy.Strategy) { s.WorkerTimeout = strategy.Duration(time.Minute) },
			in:  trial.Clusters,
			shows: func(t *testing.T, x trial.Trial) {
				role := "server 0"
				if x.Gone = 3; x.Servers == 0 {
					role, x.SilentTo = "worker 0", "worker-1:1"
				}
				later(t, x, role, strategy.Duration(20*time.Second), func(s *strategy.Strategy) *strategy.Duration { return &s.WorkerTimeout })
				if o := x.Run(t); x.Servers > 0 && !errors.Is(o.Errs[role], fleet.ErrWorkersDied) {
					t.Errorf("server 0 ends with %v", o.Errs[role])
				}
			},
		},
		"StartTimeout": {
			set: func(s *strategy.Strategy) { s.StartTimeout = strategy.Duration(time.Minute) },
			in:  trial.Clusters,
			shows: func(t *testing.T, x trial.Trial) {
				for role, missing := range map[string]string{"worker 0": "servers", "server 1": "workers"} {
					if x.Missing = missing; x.Servers == 0 {
						role, x.Missing = "worker 0", "worker 1"
					}
					later(t, x, role, strategy.Duration(20*time.Second), func(s *strategy.Strategy) *strategy.Duration { return &s.StartTimeout })
				}
			},
		},
		"WaitTimeout": {
			set: func(s *strategy.Strategy) { s.WaitTimeout = strategy.Duration(time.Minute) },
			in:  trial.Clusters,
			shows: func(t *testing.T, x trial.Trial) {
				x.Late = true
				factor = 16 // of a worker that lives
				defer func() { factor = 1 }()
				later(t, x, "worker 0", strategy.Duration(10*time.Second), func(s *strategy.Strategy) *strategy.Duration { return &s.WaitTimeout })
			},
		},
	}
}

func effectsOnGradients() map[string]effect {
	return map[string]effect{
		"NotFinite": {
			set: func(s *strategy.Strategy) { s.NotFinite = strategy.NotFiniteSkip },
			in:  trial.Places,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steady = true
				clean := x.Works(t)
				x.Spoil = func(step int, m *trial.Pulled, st *optimizer.Step) {
					if step != 3 {
						return
					}
					m.List[0].G[1] = float32(math.NaN())
					for _, r := range st.Rows {
						r.G[5] = float32(math.Inf(-1))
					}
				}
				if x.Place == trial.InCollective {
					x.NoRows = true
					for policy, fails := range map[strategy.NotFinite]bool{strategy.NotFiniteRefuse: true, strategy.NotFiniteSkip: false, strategy.NotFiniteClip: false} {
						o := x.With(func(s *strategy.Strategy) { s.NotFinite, s.LocalSGD.KSteps = policy, 2 }).Run(t)
						if (o.Errs["worker 0"] != nil) != fails {
							t.Errorf("%s with localsgd: %v", policy, o.Errs["worker 0"])
						}
					}
					x.NoRows = false
				}
				for _, policy := range []strategy.NotFinite{strategy.NotFiniteRefuse, strategy.NotFiniteSkip, strategy.NotFiniteClip, ""} {
					o := x.With(func(s *strategy.Strategy) { s.NotFinite = policy }).Run(t)
					if policy == "" || policy == strategy.NotFiniteRefuse {
						if err := o.Errs["worker 0"]; err == nil || !strings.Contains(err.Error(), "strategy.NotFinite") {
							t.Errorf("%q: %v", policy, err)
						}
						continue
					}
					// Clipped gradients count elsewhere in the variable and the row, and skipped ones nowhere.
					part := map[strategy.NotFinite]float64{strategy.NotFiniteSkip: (trial.Steps - 1.) / trial.Steps, strategy.NotFiniteClip: 1}[policy]
					if got := o.Value(t, "w") / clean.Value(t, "w"); !trial.Near(got, part, 1e-5) {
						t.Errorf("%s: a weight beside what is not finite has moved %v of its way, want %v", policy, got, part)
					}
					if got := o.Row(t, trial.OwnRow(0)) / clean.Row(t, trial.OwnRow(0)); !trial.Near(got, part, 1e-5) {
						t.Errorf("%s: a row has moved %v of its way, want %v", policy, got, part)
					}
					if got, want := float64(o.Values(t, "w")[1]/clean.Values(t, "w")[1]), (trial.Steps-1.)/trial.Steps; !trial.Near(got, want, 1e-5) {
						t.Errorf("%s: what has no number moved %v of its way, want %v", policy, got, want)
					}
				}
			},
		},
		"DelayCompensation": {
			set: func(s *strategy.Strategy) { s.DelayCompensation = 1 },
			in:  []trial.Place{trial.InAsync},
			shows: func(t *testing.T, x trial.Trial) {
				plain, much := x.Works(t), x.With(func(s *strategy.Strategy) { s.DelayCompensation = 1 }).Works(t)
				if slices.Equal(plain.Values(t, "w"), much.Values(t, "w")) || !slices.Equal(plain.Values(t, "rows"), much.Values(t, "rows")) {
					t.Error("dense weights must differ, and rows must not")
				}
				// Every gradient is −1, so that each one that is d late becomes −1 + λ·d·rate.
				x.Steady = true
				moves := func(lambda float64) float64 {
					return x.With(func(s *strategy.Strategy) { s.DelayCompensation = lambda }).Works(t).Value(t, "w")
				}
				less, least := moves(0.25), moves(0.5)
				if full := 2 * trial.Steps * trial.Rate; !(least < less && less < full) {
					t.Errorf("weights move %v, with λ 1/4 %v, with 1/2 %v", full, less, least)
				}
			},
		},
		"Weighting": {
			set: func(s *strategy.Strategy) { s.Weighting = strategy.WeightEqual },
			in:  []trial.Place{trial.InSync, trial.InCollective},
			shows: func(t *testing.T, x trial.Trial) {
				// One step of two workers with 1 and 7 samples, whose gradients are 1 and −1.
				x.Steps, x.Samples, x.Towards = 1, []int{1, 7}, []float32{-trial.Far, trial.Far}
				for weighting, want := range map[strategy.Weighting][2]float64{ // of the joined gradient, and of worker 0's own row
					"": {-6. / 8, 1. / 8}, strategy.WeightSamples: {-6. / 8, 1. / 8}, strategy.WeightEqual: {0, 1. / 2}, strategy.WeightPushes: {0, 1},
				} {
					o, m := x.With(func(s *strategy.Strategy) { s.Weighting = weighting }).Works(t), x.Objective()
					row := make([]float32, 4)
					m.List[2].InitRow(row, trial.OwnRow(0))
					got := [2]float64{(float64(m.List[0].W[0]) - o.Value(t, "w")) / trial.Rate, (float64(row[0]) - o.Row(t, trial.OwnRow(0))) / trial.Rate}
					if math.Abs(got[0]-want[0]) > 1e-5 || math.Abs(got[1]-want[1]) > 1e-5 {
						t.Errorf("%q: gradients are %v, want %v", weighting, got, want)
					}
				}
			},
		},
		"GradientMerge.KSteps": {
			set:   func(s *strategy.Strategy) { s.GradientMerge.KSteps = 3 },
			in:    slices.Concat(trial.Pushing, []trial.Place{trial.InCollective, trial.Alone}),
			shows: func(t *testing.T, x trial.Trial) { merges(t, x, false) },
		},
		"GradientMerge.Sum": {
			set:   func(s *strategy.Strategy) { s.GradientMerge = strategy.GradientMerge{KSteps: 3, Sum: true} },
			in:    slices.Concat(trial.Pushing, []trial.Place{trial.InCollective, trial.Alone}),
			shows: func(t *testing.T, x trial.Trial) { merges(t, x, true) },
		},
	}
}

// merges counts pushes and how far they move weights: k steps are one update, of their mean or their sum.
func merges(t *testing.T, x trial.Trial, sum bool) {
	x.Steady = true
	plain := x.Works(t)
	for _, k := range []int{3, 4} {
		o := x.With(func(s *strategy.Strategy) { s.GradientMerge = strategy.GradientMerge{KSteps: k, Sum: sum} }).Works(t)
		if o.Steps()*int64(k) != plain.Steps() {
			t.Errorf("every %d steps: %d pushes, without the option %d", k, o.Steps(), plain.Steps())
		}
		want := plain.Value(t, "w") / float64(k)
		if sum {
			want *= float64(k)
		}
		if got := o.Value(t, "w"); !trial.Near(got, want, 1e-5) {
			t.Errorf("every %d steps: a weight moves %v, want %v", k, got, want)
		}
	}
}

func effectsOnMeetings() map[string]effect {
	collective := []trial.Place{trial.InCollective}
	sent := func(t *testing.T, x trial.Trial, set func(*strategy.Strategy)) int64 {
		return x.With(set).Works(t).Net.Sent
	}
	return map[string]effect{
		"FuseGradSizeInMB": {
			set: func(s *strategy.Strategy) { s.FuseGradSizeInMB = 1 },
			in:  collective,
			shows: func(t *testing.T, x trial.Trial) {
				x.Wide, x.NoRows, x.Steps = 600_000, true, 2
				all, parts := x.Works(t), x.With(func(s *strategy.Strategy) { s.FuseGradSizeInMB = 1 }).Works(t)
				fewer(t, "bytes of the largest message", parts.Most, all.Most, 0.6)
				if !bytes.Equal(all.Model, parts.Model) {
					t.Error("weights differ")
				}
			},
		},
		"LocalSGD.KSteps": {
			set: func(s *strategy.Strategy) { s.LocalSGD.KSteps = 3 },
			in:  collective,
			shows: func(t *testing.T, x trial.Trial) {
				every := sent(t, x, func(*strategy.Strategy) {})
				fewer(t, "bytes sent", sent(t, x, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 6 }), every, 0.5)
				fewer(t, "bytes sent with 6 and 2", sent(t, x, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 6 }),
					sent(t, x, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 2 }), 0.7)
			},
		},
		"LocalSGD.BeginStep": {
			set: func(s *strategy.Strategy) { s.LocalSGD = strategy.LocalSGD{KSteps: 6, BeginStep: 9} },
			in:  collective,
			shows: func(t *testing.T, x trial.Trial) {
				fewer(t, "bytes sent, from the first step and from the ninth", sent(t, x, func(s *strategy.Strategy) { s.LocalSGD = strategy.LocalSGD{KSteps: 6} }),
					sent(t, x, func(s *strategy.Strategy) { s.LocalSGD = strategy.LocalSGD{KSteps: 6, BeginStep: 9} }), 0.5)
			},
		},
		"AdaptiveLocalSGD.InitKSteps": {
			set: func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 3 },
			in:  collective,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steps = 48
				every := sent(t, x, func(*strategy.Strategy) {})
				fewer(t, "bytes sent", sent(t, x, func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 16 }), every, 0.5)
				fewer(t, "bytes sent with 16 and 2", sent(t, x, func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 16 }),
					sent(t, x, func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 2 }), 0.7)
			},
		},
		"AdaptiveLocalSGD.BeginStep": {
			set: func(s *strategy.Strategy) {
				s.AdaptiveLocalSGD = strategy.AdaptiveLocalSGD{InitKSteps: 16, BeginStep: 40}
			},
			in: collective,
			shows: func(t *testing.T, x trial.Trial) {
				x.Steps = 48
				fewer(t, "bytes sent, from the first step and from the fortieth",
					sent(t, x, func(s *strategy.Strategy) { s.AdaptiveLocalSGD = strategy.AdaptiveLocalSGD{InitKSteps: 16} }),
					sent(t, x, func(s *strategy.Strategy) {
						s.AdaptiveLocalSGD = strategy.AdaptiveLocalSGD{InitKSteps: 16, BeginStep: 40}
					}), 0.6)
			},
		},
	}
}
