package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// steadily is a training without looking ahead, so that a single worker's steps see all that came before, to the end of its
// epoch.
func steadily(rule optimizer.Rule, s strategy.Strategy, batch func(f *fleet.Fleet, step int) []trial.Sample) trial.Training {
	return trial.Training{Rule: rule, Strategy: s, To: lawSteps, Batch: batch,
		After: func(ctx context.Context, _ *fleet.Fleet, o *trial.Toy) error { return o.Trainer.EndEpoch(ctx) }}
}

// TestClipOnTheWorker: where each push is an update, one worker with servers trains as one process does, whose gradients are
// clipped too.
func TestClipOnTheWorker(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, rule := range trial.SomeOf(t, trial.Clips()) {
		alone := steadily(rule, strategy.Strategy{}, nil).Weights(t, trial.Cluster(0, 0))
		free := steadily(optimizer.SGD{LR: 0.1}, strategy.Strategy{}, nil).Weights(t, trial.Cluster(0, 0))
		if trial.Distance(t, alone, free) < 1e-3 {
			t.Errorf("%s: nothing was clipped", name)
		}
		for _, s := range trial.Some(t, []strategy.Strategy{strategy.Async(), strategy.HalfAsync(), strategy.SSP(1), strategy.Geo(3)}) {
			t.Run(name+" "+string(s.Mode), func(t *testing.T) {
				got := steadily(rule, s, nil).Weights(t, trial.Cluster(2, 1))
				if far := trial.Distance(t, alone, got); far > 1e-5 {
					t.Errorf("%g away from one process", far)
				}
			})
		}
	}
}

// TestClipInRounds: in mode sync the gradient of the joined batch is clipped, as one process does it, to the same bits however
// many servers share it.
//
// Promise: [G2] clips act on the mean, with exact sums of squares wherever variables lie; in other modes on what a
// worker pushes
// Also: TestWhereClipsAct
func TestClipInRounds(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, rule := range trial.SomeOf(t, trial.Clips()) {
		alone := steadily(rule, strategy.Strategy{}, nil).Weights(t, trial.Cluster(0, 0))
		var first []byte
		for _, servers := range trial.Some(t, []int{2, 1, 3, 5}) {
			s := strategy.Sync()
			s.NoSlice = servers == 3
			got := steadily(rule, s, nil).Weights(t, trial.Cluster(servers, 3))
			if far := trial.Distance(t, alone, got); far > 1e-5 {
				t.Errorf("%s: %d servers are %g away from one process", name, servers, far)
			}
			if first == nil {
				first = got
			}
			if !bytes.Equal(first, got) {
				t.Errorf("%s: %d servers are %g away from two", name, servers, trial.Distance(t, first, got))
			}
		}
	}
}

// TestClipUnderFaults loses, repeats and reorders messages, those between servers too: the weights are the same to the last bit.
func TestClipUnderFaults(t *testing.T) {
	t.Parallel()
	trial.Long(t)
	x := steadily(trial.Clips()["all"], strategy.Sync(), nil)
	want := x.Weights(t, trial.Cluster(2, 3))
	for _, seed := range trial.Some(t, []uint64{0, 1, 2}) {
		network := transporttest.NewFaulty(transport.NewMemory(), seed, transporttest.Faults{LoseRequest: 0.05, LoseAnswer: 0.1, Duplicate: 0.1, Reorder: 0.05})
		got := x.Weights(t, fleettest.Cluster{Servers: 3, Workers: 3, Options: fleet.Options{Transport: network}})
		if !bytes.Equal(want, got) {
			t.Errorf("seed %d: weights are %g away", seed, trial.Distance(t, want, got))
		}
	}
}

// TestWorkerDiesWhileGradientsAreMeasured has a worker fall silent after its push has reached only one server, which then waits
// for the other's sums: the job goes on.
func TestWorkerDiesWhileGradientsAreMeasured(t *testing.T) {
	t.Parallel()
	for reached := range 2 {
		synctest.Test(t, func(t *testing.T) {
			s, net := trial.Hasty(strategy.Sync()), transport.NewMemory()
			c := fleettest.Cluster{Servers: 2, Workers: 3, Options: fleet.Options{Transport: net}}
			errs := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
				if f.WorkerIndex() == 1 {
					return trial.DieHalfway(ctx, f, net, trial.Clips()["all"], s, reached)
				}
				return trial.Training{Rule: trial.Clips()["all"], Strategy: s, To: 6, Ahead: true}.Run(ctx, f)
			})
			for role, err := range errs {
				switch {
				case strings.HasPrefix(role, "server") && !errors.Is(err, fleet.ErrWorkersDied):
					t.Errorf("%d reached: %s: %v, want ErrWorkersDied", reached, role, err)
				case role == "worker 0" || role == "worker 2":
					if err != nil {
						t.Errorf("%d reached: %s: %v, want it to finish", reached, role, err)
					}
				}
			}
		})
	}
}

// halving is a clip that looks at more than lengths.
type halving struct{ optimizer.SGD }

func (halving) ClipGradients(params []*optimizer.Param, _ []optimizer.Rows) {
	for _, p := range params {
		for i := range p.G {
			p.G[i] /= 2
		}
	}
}

// TestOwnClips: a program's own clip works where workers clip, and is refused where servers would have to.
func TestOwnClips(t *testing.T) {
	t.Parallel()
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
		x := trial.Training{Rule: halving{optimizer.SGD{LR: 0.1}}, Strategy: s, To: 2, Ahead: true}
		for role, err := range trial.Cluster(2, 1).Errors(t, x.Run) {
			if refused := err != nil && strings.Contains(err.Error(), "NormClipper"); refused != (s.Mode == strategy.ModeSync) {
				t.Errorf("%s, %s: error %v", s.Mode, role, err)
			}
		}
	}
}
