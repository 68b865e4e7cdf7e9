package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/stats"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/rolemaker"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

func ExampleFleet_Explain() {
	role := rolemaker.UserDefined{Role: rolemaker.Worker, WorkerNum: 4, ServerEndpoints: []string{"a:1", "b:1"}}
	f, err := fleet.New(context.Background(), role, fleet.Options{Transport: transport.NewMemory()})
	if err != nil {
		log.Fatal(err)
	}
	opt, err := f.DistributedOptimizer(optimizer.Adam{LR: 1e-3}, strategy.Strategy{Mode: strategy.ModeSync, Payload: strategy.PayloadFloat16})
	if err != nil {
		log.Fatal(err)
	}
	if err := opt.Minimize(trial.NewToy()); err != nil {
		log.Fatal(err)
	}
	e, err := f.Explain(map[string]int{"emb": 2000, "open": 500})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(e)
	// Output:
	// mode sync, 4 workers, 2 servers, payload float16, codec none
	// expected of a worker's step with 2000 ids of "emb", 500 ids of "open", before compression:
	//   server  dense values  rows  bytes pushed  bytes pulled  round trips
	//        0         15021  1250         45776         78200         1.00
	//        1         15003  1250         45736         78128         1.00
	//      all         30024  2500         91512        156328         2.00
	// where the ids of the next batch are not known: 91640 bytes pushed, 156456 pulled, 4.00 round trips
	// measured: no step yet
}

// TestExplainedTraffic compares what is expected with what a transport has counted, mode by mode.
func TestExplainedTraffic(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	merged := strategy.Sync()
	merged.GradientMerge.KSteps = 4
	narrow := strategy.Async()
	narrow.Payload = strategy.PayloadInt8
	seldom := strategy.Async()
	seldom.MinSendGradNumBeforeRecv = 5
	receiver := strategy.Async()
	receiver.IndependentRecvThread = true
	for name, s := range trial.SomeOf(t, map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async(), "half_async": strategy.HalfAsync(), "ssp": strategy.SSP(1),
		"geo": strategy.Geo(5), "merged": merged, "narrow": narrow, "seldom": seldom, "own receiver": receiver}) {
		t.Run(name, func(t *testing.T) {
			x := trial.Training{Rule: optimizer.SGD{LR: 0.1}, Strategy: s, To: 200, Ahead: true}
			x.After = func(ctx context.Context, f *fleet.Fleet, _ *trial.Toy) error {
				e, err := f.Explain(map[string]int{"emb": 24, "open": 24})
				if err != nil {
					return err
				}
				m, steps := e.Transport, 200.
				var up, down, trips float64
				for _, at := range e.Servers {
					up, down, trips = up+at.Pushed*steps, down+at.Pulled*steps, trips+at.Trips*steps
				}
				for what, pair := range map[string][2]float64{"pushed": {up, float64(m.Sent)}, "pulled": {down, float64(m.Received)}, "trips": {trips, float64(m.Calls)}} {
					most := 0.25
					if s.IndependentRecvThread && pair[0] > pair[1] {
						most = 4 // a receiver that is busy brings once what several pushes have changed; expected is that it keeps up
					}
					if off := math.Abs(pair[0]/pair[1] - 1); off > most {
						t.Errorf("%s: %.0f expected, %.0f measured", what, pair[0], pair[1])
					}
				}
				if !strings.Contains(e.String(), "steps, as sent") {
					t.Errorf("the table says\n%s", e)
				}
				return nil
			}
			trial.Cluster(2, 1).Simulate(t, nil, x.Run)
		})
	}
}

// TestExplainKnowsMaxFrame: where frames are small, what a step is expected to take is what a hundred steps more have taken more: round
// trips to the last (but for some of the job's own: who asks early whether servers are there asks again), bytes to 3 %.
func TestExplainKnowsMaxFrame(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, mode := range trial.Some(t, []strategy.Mode{strategy.ModeSync, strategy.ModeAsync, strategy.ModeSSP, strategy.ModeHalfAsync}) {
		for _, payload := range trial.Some(t, []strategy.Payload{strategy.PayloadFloat32, strategy.PayloadFloat16, strategy.PayloadInt8}) {
			for _, frame := range []int{4096, 8192, 0} {
				s := strategy.Strategy{Mode: mode, Payload: payload, MaxFrame: frame}
				t.Run(fmt.Sprintf("%s/%s/%d", mode, payload, frame), func(t *testing.T) {
					few, _ := explained(t, s, 10)
					many, want := explained(t, s, 110)
					is := stats.Traffic{Trips: float64(many.Calls-few.Calls) / 100, Pushed: float64(many.Sent-few.Sent) / 100,
						Pulled: float64(many.Received-few.Received) / 100}
					off := max(math.Abs(want.Pushed/is.Pushed-1), math.Abs(want.Pulled/is.Pulled-1))
					if math.Abs(want.Trips-is.Trips) > 0.09 || off > 0.03 {
						t.Errorf("a step takes %+v, expected are %+v", is, want)
					}
				})
			}
		}
	}
}

// explained is what so many steps of 300 rows have taken, and what is expected of one.
func explained(t *testing.T, s strategy.Strategy, steps int) (took transport.Stats, expected stats.Traffic) {
	fleettest.Cluster{Servers: 1, Workers: 1}.Simulate(t, nil, func(ctx context.Context, f *fleet.Fleet) error {
		c := trial.NewCounter(5000)
		c.IDs = nil
		r := rand.New(rand.NewPCG(1, 1))
		for range 300 {
			c.IDs = append(c.IDs, r.Uint64())
		}
		slices.Sort(c.IDs)
		return c.Play(ctx, f, s, func() error {
			if err := errors.Join(c.Train(ctx, steps), f.BarrierWorker(ctx)); err != nil {
				return err
			}
			e, err := f.Explain(map[string]int{"rows": 300})
			if err != nil {
				return err
			}
			took = e.Transport
			for _, at := range e.Servers {
				expected.Trips, expected.Pushed, expected.Pulled = expected.Trips+at.Trips, expected.Pushed+at.Pushed, expected.Pulled+at.Pulled
			}
			return nil
		})
	})
	return took, expected
}

func TestExplainRefuses(t *testing.T) {
	t.Parallel()
	fleettest.Run(t, 0, 1, func(_ context.Context, f *fleet.Fleet) error {
		if _, err := f.Explain(nil); !errors.Is(err, fleet.ErrOrder) {
			t.Errorf("before Minimize: %v", err)
		}
		if err := minimized(f, optimizer.SGD{LR: 1}); err != nil {
			return err
		}
		if _, err := f.Explain(nil); !errors.Is(err, fleet.ErrRole) {
			t.Errorf("without servers: %v", err)
		}
		return nil
	})
	x := trial.Training{Rule: optimizer.SGD{LR: 1}, Strategy: strategy.Async(), To: 1, Ahead: true}
	x.After = func(ctx context.Context, f *fleet.Fleet, _ *trial.Toy) error {
		if _, err := f.Explain(map[string]int{"w": 3}); err == nil || !strings.Contains(err.Error(), `"w": want an embedding's name`) {
			t.Errorf("ids of a dense param: %v", err)
		}
		e, err := f.Explain(nil)
		if err != nil || !slices.ContainsFunc(e.Servers, func(s stats.Traffic) bool { return s.Floats > 0 }) {
			t.Errorf("%v, error %v", e, err)
		}
		return nil
	}
	x.On(t, trial.Cluster(1, 1))
}
