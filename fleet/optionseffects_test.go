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
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/strategy/placement"
)

// effects are what the fields of a strategy do, by name.
func effects() map[string]effect {
	all := map[string]effect{}
	for _, some := range []map[string]effect{effectsOnModes(), effectsOnPlaces(), effectsOnMessages(), effectsOnTimes(), effectsOnGradients(),
		effectsOnMeetings(), effectsOnQueues(), effectsOnStaleness()} {
		for name, e := range some {
			all[name] = e
		}
	}
	return all
}

// row is the first element of a row.
func (o outcome) row(t *testing.T, id uint64) float64 {
	t.Helper()
	at := slices.Index(tensor[uint64](t, o.model, "rows.ids"), id)
	if at < 0 {
		t.Fatalf("there is no row %d", id)
	}
	return float64(o.values(t, "rows")[4*at])
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
			in:  clusters,
			shows: func(t *testing.T, x trial) {
				// Worker 0, whose steps take a third of worker 1's, waits for it or not; the pushes of a step, or the gradients of a worker's
				// threads, become one or each counts; and there is a push for each step and worker, or fewer.
				x.steady, x.pace, x.latency = true, []time.Duration{50 * time.Millisecond, 150 * time.Millisecond}, 20*time.Millisecond
				if x.threads = 1; x.place == inAsync || x.place == inHalfAsync {
					x.threads = 2
				}
				type seen struct{ waits, averages, few bool }
				o, all := x.works(t), 2*trialSteps*x.threads
				got := seen{o.looped[0] > 2*trialSteps*x.pace[0], o.value(t, "w") < float64(all)*trialRate, o.steps() < int64(all)}
				want := map[string]seen{"sync": {waits: true, averages: true}, "collective": {waits: true, averages: true}, "async": {},
					"half_async": {averages: true}, "ssp": {waits: true}, "geo": {few: true}}[x.name]
				if got != want {
					t.Errorf("got %+v, want %+v: %v, weights %v, %d pushes", got, want, o.looped, o.value(t, "w"), o.steps())
				}
			},
		},
		"Staleness": {
			set: func(s *strategy.Strategy) { s.Staleness = 3 },
			in:  []place{inSSP},
			shows: func(t *testing.T, x trial) {
				x.pace = []time.Duration{time.Millisecond, 100 * time.Millisecond}
				in, ahead := x.works(t), x.with(func(s *strategy.Strategy) { s.Staleness = 3 }).works(t)
				if earlier := in.looped[0] - ahead.looped[0]; !near(float64(earlier), float64(300*time.Millisecond), 0.1) {
					t.Errorf("the faster worker ends %v earlier, 3 steps are 300 ms", earlier)
				}
			},
		},
		"KSteps": {
			set: func(s *strategy.Strategy) { s.KSteps = 3 },
			in:  []place{inGeo},
			shows: func(t *testing.T, x trial) {
				seldom := x.works(t)
				for _, k := range []int{3, 4} {
					o := x.with(func(s *strategy.Strategy) { s.KSteps = k }).works(t)
					if more, want := o.steps()-seldom.steps(), int64(2*trialSteps/k); more < want-2 || more > want {
						t.Errorf("every %d steps: %d exchanges more than every 100, want %d", k, more, want)
					}
				}
			},
		},
		"GeoRest": {
			set: func(s *strategy.Strategy) { s.GeoRest = strategy.GeoRestKeep },
			in:  []place{inGeo},
			shows: func(t *testing.T, x trial) {
				// Two exchanges: a share of what is trained in the first four steps only goes with the first, what is left of it with the
				// second or never, and what the second leaves at the end or never.
				x.steady, x.steps, x.s.KSteps = true, 8, 4
				for rest, part := range map[strategy.GeoRest]float64{"": 1, strategy.GeoRestSend: 1, strategy.GeoRestKeep: 0.5} {
					o := x.with(func(s *strategy.Strategy) { s.GeoRest = rest }).works(t)
					if got, want := o.row(t, 3), 2*part*trialRate; !near(got, want, 1e-5) {
						t.Errorf("%q: a row that changes no more is %v, want %v", rest, got, want)
					}
					if got, full := o.value(t, "w"), 2*8*trialRate; (got == full) != (part == 1) || got > full {
						t.Errorf("%q: a weight is %v of %v", rest, got, full)
					}
				}
			},
		},
	}
}

func effectsOnPlaces() map[string]effect {
	planned := func(t *testing.T, o outcome) (policy string, at map[string][]int) {
		at = map[string][]int{}
		for _, b := range o.plan.Blocks {
			at[b.Var] = append(at[b.Var], b.Server)
		}
		return o.plan.Policy, at
	}
	return map[string]effect{
		"Placement": {
			set: func(s *strategy.Strategy) { s.Placement = "LastServer" },
			in:  withServers,
			shows: func(t *testing.T, x trial) {
				shared := x.works(t)
				o := x.with(func(s *strategy.Strategy) { s.Placement = "LastServer" }).works(t)
				fewer(t, "bytes to the first server, of the model's", o.to["server-0:1"], o.to["server-1:1"], 0.5)
				if a, b := shared.to["server-0:1"], shared.to["server-1:1"]; !near(float64(a), float64(b), 0.2) {
					t.Errorf("RoundRobin sends %d bytes to one server and %d to the other", a, b)
				}
				for _, p := range placement.Policies() {
					if reflect.TypeOf(p).NumField() > 0 {
						t.Errorf("nothing shows what the fields of %T do", p)
					}
					o := x.with(func(s *strategy.Strategy) { s.Placement = p.Name() }).works(t)
					var blocks []placement.Block
					var got []int
					for _, b := range o.plan.Blocks {
						blocks, got = append(blocks, b.Block), append(got, b.Server)
					}
					if want := p.Place(blocks, x.servers); o.plan.Policy != p.Name() || !slices.Equal(got, want) {
						t.Errorf("blocks lie at %v by %s, want %v by %s", got, o.plan.Policy, want, p.Name())
					}
				}
			},
		},
		"NoSlice": {
			set: func(s *strategy.Strategy) { s.NoSlice = true },
			in:  withServers,
			shows: func(t *testing.T, x trial) {
				cut, whole := x.works(t), x.with(func(s *strategy.Strategy) { s.NoSlice = true }).works(t)
				_, a := planned(t, cut)
				_, b := planned(t, whole)
				if len(a["wide"]) != 2 || len(b["wide"]) != 1 {
					t.Errorf("20,000 weights lie at %v, not sliced at %v", a["wide"], b["wide"])
				}
				if small, large := min(whole.to["server-0:1"], whole.to["server-1:1"]), max(whole.to["server-0:1"], whole.to["server-1:1"]); small > large/2 {
					t.Errorf("the whole variable's bytes go to both servers: %d and %d", small, large)
				}
			},
		},
		"MinBlockSize": {
			set: func(s *strategy.Strategy) { s.MinBlockSize = 15_000 },
			in:  withServers,
			shows: func(t *testing.T, x trial) {
				for least, want := range map[int]int{0: 2, 10_000: 2, 15_000: 1} {
					_, at := planned(t, x.with(func(s *strategy.Strategy) { s.MinBlockSize = least }).works(t))
					if len(at["wide"]) != want {
						t.Errorf("20,000 weights in blocks of at least %d lie at %v, want %d blocks", least, at["wide"], want)
					}
				}
			},
		},
		"SmallBlocks": {
			set: func(s *strategy.Strategy) { s.SmallBlocks, s.MinBlockSize = true, 4 },
			in:  withServers,
			shows: func(t *testing.T, x trial) {
				if err := x.with(func(s *strategy.Strategy) { s.MinBlockSize = 4 }).refusal(t); err == nil || !strings.Contains(err.Error(), "small_blocks") {
					t.Errorf("blocks of 4 without leave: %v", err)
				}
				if _, at := planned(t, x.with(func(s *strategy.Strategy) { s.SmallBlocks, s.MinBlockSize = true, 4 }).works(t)); len(at["w"]) != 2 {
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
			in:  clusters,
			shows: func(t *testing.T, x trial) {
				x.steady = true
				plain := x.works(t)
				for _, codec := range strategy.Codecs() {
					o := x.with(func(s *strategy.Strategy) { s.Codec = codec }).works(t)
					if !bytes.Equal(plain.model, o.model) {
						t.Errorf("%s: weights differ", codec)
					}
					if codec == "none" {
						continue
					}
					fewer(t, codec+": bytes sent", o.net.Sent, plain.net.Sent, 0.5)
					fewer(t, codec+": bytes of answers", o.net.Received, plain.net.Received, 0.5)
				}
			},
		},
		"Payload": {
			set: func(s *strategy.Strategy) { s.Payload = strategy.PayloadInt8 },
			in:  pushing,
			shows: func(t *testing.T, x trial) {
				x.wide = 40_000 // beside which the rest of a message is small
				full := x.works(t)
				for payload, part := range map[strategy.Payload]float64{strategy.PayloadFloat32: 1.01, strategy.PayloadFloat16: 0.55,
					strategy.PayloadBFloat16: 0.55, strategy.PayloadInt8: 0.3} {
					o := x.with(func(s *strategy.Strategy) { s.Payload = payload }).works(t)
					fewer(t, string(payload)+": bytes to servers", o.to["server-0:1"]+o.to["server-1:1"], full.to["server-0:1"]+full.to["server-1:1"], part)
					if far := apartBy(t, full, o); far > 0.05 || (far == 0) != (payload == strategy.PayloadFloat32) {
						t.Errorf("%s: weights are %g away", payload, far)
					}
				}
			},
		},
		"MaxFrame": {
			set: func(s *strategy.Strategy) { s.MaxFrame = 4096 },
			in:  withServers,
			shows: func(t *testing.T, x trial) {
				x.steady, x.more = true, 500
				whole, pieces := x.works(t), x.with(func(s *strategy.Strategy) { s.MaxFrame = 4096 }).works(t)
				fewer(t, "calls, in whole frames", whole.net.Calls, pieces.net.Calls, 0.3)
				if whole.most < 20_000 || pieces.most > 4096 {
					t.Errorf("the largest message has %d bytes, with the bound %d", whole.most, pieces.most)
				}
				if far := apartBy(t, whole, pieces); far != 0 {
					t.Errorf("weights are %g away", far)
				}
			},
		},
	}
}

// apartBy is the largest difference between the weights of two trials.
func apartBy(t *testing.T, a, b outcome) (far float64) {
	t.Helper()
	for _, name := range []string{"w", "wide", "rows"} {
		x, y := a.values(t, name), b.values(t, name)
		for i := range x {
			far = max(far, math.Abs(float64(x[i]-y[i])))
		}
	}
	return far
}

func effectsOnTimes() map[string]effect {
	// later says how much later a role ends when a time is longer by a minute.
	later := func(t *testing.T, x trial, role string, short strategy.Duration, field func(*strategy.Strategy) *strategy.Duration) {
		t.Helper()
		const more = strategy.Duration(10 * time.Minute)
		ends := func(d strategy.Duration) time.Duration {
			x := x.with(func(s *strategy.Strategy) { s.HeartbeatInterval = strategy.Duration(5 * time.Second); *field(s) = d })
			o := x.run(t)
			if o.errs[role] == nil || o.when[role] < d.Std() {
				t.Errorf("after %v %s ended with error %v, the time is %v", o.when[role], role, o.errs[role], d)
			}
			return o.when[role]
		}
		if got := ends(short+more) - ends(short); !near(float64(got), float64(more), 0.3) {
			t.Errorf("%s ends %v later, want about %v", role, got, more)
		}
	}
	return map[string]effect{
		"HeartbeatInterval": {
			set: func(s *strategy.Strategy) { s.HeartbeatInterval = strategy.Duration(10 * time.Second) },
			in:  clusters,
			shows: func(t *testing.T, x trial) {
				x.steps, x.pace = 3, []time.Duration{time.Millisecond, 20 * time.Second}
				often, seldom := x.works(t), x.with(func(s *strategy.Strategy) { s.HeartbeatInterval = strategy.Duration(10 * time.Second) }).works(t)
				if less := often.net.Calls - seldom.net.Calls; less < 40 || less > 4*60 {
					t.Errorf("in a minute %d calls, with heartbeats every 10 s %d", often.net.Calls, seldom.net.Calls)
				}
			},
		},
		"WorkerTimeout": {
			set: func(s *strategy.Strategy) { s.WorkerTimeout = strategy.Duration(time.Minute) },
			in:  clusters,
			shows: func(t *testing.T, x trial) {
				role := "server 0"
				if x.gone = 3; x.servers == 0 {
					role, x.silentTo = "worker 0", "worker-1:1"
				}
				later(t, x, role, strategy.Duration(20*time.Second), func(s *strategy.Strategy) *strategy.Duration { return &s.WorkerTimeout })
				if o := x.run(t); x.servers > 0 && !errors.Is(o.errs[role], fleet.ErrWorkersDied) {
					t.Errorf("server 0 ends with %v", o.errs[role])
				}
			},
		},
		"StartTimeout": {
			set: func(s *strategy.Strategy) { s.StartTimeout = strategy.Duration(time.Minute) },
			in:  clusters,
			shows: func(t *testing.T, x trial) {
				for role, missing := range map[string]string{"worker 0": "servers", "server 1": "workers"} {
					if x.missing = missing; x.servers == 0 {
						role, x.missing = "worker 0", "worker 1"
					}
					later(t, x, role, strategy.Duration(20*time.Second), func(s *strategy.Strategy) *strategy.Duration { return &s.StartTimeout })
				}
			},
		},
		"WaitTimeout": {
			set: func(s *strategy.Strategy) { s.WaitTimeout = strategy.Duration(time.Minute) },
			in:  clusters,
			shows: func(t *testing.T, x trial) {
				x.late = true
				later(t, x, "worker 0", strategy.Duration(20*time.Second), func(s *strategy.Strategy) *strategy.Duration { return &s.WaitTimeout })
			},
		},
	}
}

func effectsOnGradients() map[string]effect {
	return map[string]effect{
		"NotFinite": {
			set: func(s *strategy.Strategy) { s.NotFinite = strategy.NotFiniteSkip },
			in:  places,
			shows: func(t *testing.T, x trial) {
				x.steady = true
				clean := x.works(t)
				x.spoil = func(step int, m *anything, st *optimizer.Step) {
					if step != 3 {
						return
					}
					m.params[0].G[1] = float32(math.NaN())
					for _, r := range st.Rows {
						r.G[5] = float32(math.Inf(-1))
					}
				}
				if x.place == inCollective {
					x.noRows = true
					for policy, fails := range map[strategy.NotFinite]bool{strategy.NotFiniteRefuse: true, strategy.NotFiniteSkip: false, strategy.NotFiniteClip: false} {
						o := x.with(func(s *strategy.Strategy) { s.NotFinite, s.LocalSGD.KSteps = policy, 2 }).run(t)
						if (o.errs["worker 0"] != nil) != fails {
							t.Errorf("%s with localsgd: %v", policy, o.errs["worker 0"])
						}
					}
					x.noRows = false
				}
				for _, policy := range append(strategy.NotFinites(), "") {
					o := x.with(func(s *strategy.Strategy) { s.NotFinite = policy }).run(t)
					if policy == "" || policy == strategy.NotFiniteRefuse {
						if err := o.errs["worker 0"]; err == nil || !strings.Contains(err.Error(), "strategy.NotFinite") {
							t.Errorf("%q: %v", policy, err)
						}
						continue
					}
					// Clipped gradients count elsewhere in the variable and the row, and skipped ones nowhere.
					part := map[strategy.NotFinite]float64{strategy.NotFiniteSkip: (trialSteps - 1.) / trialSteps, strategy.NotFiniteClip: 1}[policy]
					if got := o.value(t, "w") / clean.value(t, "w"); !near(got, part, 1e-5) {
						t.Errorf("%s: a weight beside what is not finite has moved %v of its way, want %v", policy, got, part)
					}
					if got := o.row(t, ownRow(0)) / clean.row(t, ownRow(0)); !near(got, part, 1e-5) {
						t.Errorf("%s: a row has moved %v of its way, want %v", policy, got, part)
					}
					if got, want := float64(o.values(t, "w")[1]/clean.values(t, "w")[1]), (trialSteps-1.)/trialSteps; !near(got, want, 1e-5) {
						t.Errorf("%s: what has no number moved %v of its way, want %v", policy, got, want)
					}
				}
			},
		},
		"DelayCompensation": {
			set: func(s *strategy.Strategy) { s.DelayCompensation = 1 },
			in:  []place{inAsync},
			shows: func(t *testing.T, x trial) {
				plain, much := x.works(t), x.with(func(s *strategy.Strategy) { s.DelayCompensation = 1 }).works(t)
				if slices.Equal(plain.values(t, "w"), much.values(t, "w")) || !slices.Equal(plain.values(t, "rows"), much.values(t, "rows")) {
					t.Error("dense weights must differ, and rows must not")
				}
				// Every gradient is −1, so that each one that is d late becomes −1 + λ·d·rate.
				x.steady = true
				moves := func(lambda float64) float64 {
					return x.with(func(s *strategy.Strategy) { s.DelayCompensation = lambda }).works(t).value(t, "w")
				}
				less, least := moves(0.25), moves(0.5)
				if full := 2 * trialSteps * trialRate; !(least < less && less < full) {
					t.Errorf("weights move %v, with λ 1/4 %v, with 1/2 %v", full, less, least)
				}
			},
		},
		"Weighting": {
			set: func(s *strategy.Strategy) { s.Weighting = strategy.WeightEqual },
			in:  []place{inSync, inCollective},
			shows: func(t *testing.T, x trial) {
				// One step of two workers with 1 and 7 samples, whose gradients are 1 and −1.
				x.steps, x.samples, x.towards = 1, []int{1, 7}, []float32{-far, far}
				for weighting, want := range map[strategy.Weighting][2]float64{ // of the joined gradient, and of worker 0's own row
					"": {-6. / 8, 1. / 8}, strategy.WeightSamples: {-6. / 8, 1. / 8}, strategy.WeightEqual: {0, 1. / 2}, strategy.WeightPushes: {0, 1},
				} {
					o, m := x.with(func(s *strategy.Strategy) { s.Weighting = weighting }).works(t), x.objective()
					row := make([]float32, 4)
					m.params[2].InitRow(row, ownRow(0))
					got := [2]float64{(float64(m.params[0].W[0]) - o.value(t, "w")) / trialRate, (float64(row[0]) - o.row(t, ownRow(0))) / trialRate}
					if math.Abs(got[0]-want[0]) > 1e-5 || math.Abs(got[1]-want[1]) > 1e-5 {
						t.Errorf("%q: gradients are %v, want %v", weighting, got, want)
					}
				}
			},
		},
		"GradientMerge.KSteps": {
			set:   func(s *strategy.Strategy) { s.GradientMerge.KSteps = 3 },
			in:    slices.Concat(pushing, []place{inCollective, alone}),
			shows: func(t *testing.T, x trial) { x.merges(t, false) },
		},
		"GradientMerge.Sum": {
			set:   func(s *strategy.Strategy) { s.GradientMerge = strategy.GradientMerge{KSteps: 3, Sum: true} },
			in:    slices.Concat(pushing, []place{inCollective, alone}),
			shows: func(t *testing.T, x trial) { x.merges(t, true) },
		},
	}
}

// merges counts pushes and how far they move weights: k steps are one update, of their mean or their sum.
func (x trial) merges(t *testing.T, sum bool) {
	x.steady = true
	plain := x.works(t)
	for _, k := range []int{3, 4} {
		o := x.with(func(s *strategy.Strategy) { s.GradientMerge = strategy.GradientMerge{KSteps: k, Sum: sum} }).works(t)
		if o.steps()*int64(k) != plain.steps() {
			t.Errorf("every %d steps: %d pushes, without the option %d", k, o.steps(), plain.steps())
		}
		want := plain.value(t, "w") / float64(k)
		if sum {
			want *= float64(k)
		}
		if got := o.value(t, "w"); !near(got, want, 1e-5) {
			t.Errorf("every %d steps: a weight moves %v, want %v", k, got, want)
		}
	}
}

func effectsOnMeetings() map[string]effect {
	collective := []place{inCollective}
	sent := func(t *testing.T, x trial, set func(*strategy.Strategy)) int64 { return x.with(set).works(t).net.Sent }
	return map[string]effect{
		"FuseGradSizeInMB": {
			set: func(s *strategy.Strategy) { s.FuseGradSizeInMB = 1 },
			in:  collective,
			shows: func(t *testing.T, x trial) {
				x.wide, x.noRows, x.steps = 600_000, true, 2
				all, parts := x.works(t), x.with(func(s *strategy.Strategy) { s.FuseGradSizeInMB = 1 }).works(t)
				fewer(t, "bytes of the largest message", parts.most, all.most, 0.6)
				if !bytes.Equal(all.model, parts.model) {
					t.Error("weights differ")
				}
			},
		},
		"LocalSGD.KSteps": {
			set: func(s *strategy.Strategy) { s.LocalSGD.KSteps = 3 },
			in:  collective,
			shows: func(t *testing.T, x trial) {
				every := sent(t, x, func(*strategy.Strategy) {})
				fewer(t, "bytes sent", sent(t, x, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 6 }), every, 0.5)
				fewer(t, "bytes sent with 6 and 2", sent(t, x, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 6 }),
					sent(t, x, func(s *strategy.Strategy) { s.LocalSGD.KSteps = 2 }), 0.7)
			},
		},
		"LocalSGD.BeginStep": {
			set: func(s *strategy.Strategy) { s.LocalSGD = strategy.LocalSGD{KSteps: 6, BeginStep: 9} },
			in:  collective,
			shows: func(t *testing.T, x trial) {
				fewer(t, "bytes sent, from the first step and from the ninth", sent(t, x, func(s *strategy.Strategy) { s.LocalSGD = strategy.LocalSGD{KSteps: 6} }),
					sent(t, x, func(s *strategy.Strategy) { s.LocalSGD = strategy.LocalSGD{KSteps: 6, BeginStep: 9} }), 0.5)
			},
		},
		"AdaptiveLocalSGD.InitKSteps": {
			set: func(s *strategy.Strategy) { s.AdaptiveLocalSGD.InitKSteps = 3 },
			in:  collective,
			shows: func(t *testing.T, x trial) {
				x.steps = 48
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
			shows: func(t *testing.T, x trial) {
				x.steps = 48
				fewer(t, "bytes sent, from the first step and from the fortieth",
					sent(t, x, func(s *strategy.Strategy) { s.AdaptiveLocalSGD = strategy.AdaptiveLocalSGD{InitKSteps: 16} }),
					sent(t, x, func(s *strategy.Strategy) {
						s.AdaptiveLocalSGD = strategy.AdaptiveLocalSGD{InitKSteps: 16, BeginStep: 40}
					}), 0.6)
			},
		},
	}
}
