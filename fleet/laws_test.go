package fleet_test

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/porttest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
)

const lawSteps = 20

// lawful is a training of the toy of which a promise is made.
func lawful(rule optimizer.Rule, s strategy.Strategy) trial.Training {
	return trial.Training{Rule: rule, Strategy: s, To: lawSteps, Ahead: true}
}

// TestSyncEqualsLocal holds sync mode to what it promises: three workers train as one process does on their joined batch.
//
// Promise: [G2] one worker equals one process bit for bit, three equal it on the joined batch up to rounding; two
// runs are equal bit for bit; workers may have more and fewer batches
// Also: TestSyncIsOneTraining, TestUnevenWorkers
func TestSyncEqualsLocal(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, rule := range trial.SomeOf(t, trial.Rules()) {
		t.Run(name, func(t *testing.T) {
			alone := lawful(rule, strategy.Strategy{}).Weights(t, trial.Cluster(0, 0))
			if slices.Equal(trial.Tensor[float32](t, alone, "w"), trial.NewToy().W.W) {
				t.Fatal("nothing was trained")
			}
			together := lawful(rule, strategy.Sync()).Weights(t, trial.Cluster(2, 3))
			if far := trial.Distance(t, alone, together); far > 1e-5 {
				t.Errorf("three workers are %g away from one process after %d steps", far, lawSteps)
			}
			if far := trial.Distance(t, alone, lawful(rule, strategy.Sync()).Weights(t, trial.Cluster(0, 0))); far != 0 {
				t.Errorf("one process differs from itself by %g", far)
			}
			if far := trial.Distance(t, alone, lawful(rule, strategy.Sync()).Weights(t, trial.Cluster(2, 1))); far != 0 {
				t.Errorf("one worker differs from one process by %g", far)
			}
		})
	}
}

// TestSyncEqualsLocalUnderEveryRule is the same for every rule but DPSGD, whose noise is its own, after 100 steps, where single
// elements may differ more: sums round.
func TestSyncEqualsLocalUnderEveryRule(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	rules := trial.OtherRules()
	maps.Copy(rules, trial.Rules())
	rules["DenseAdam"], rules["Centred"] = optimizer.Adam{LR: 0.01, Dense: true}, optimizer.RMSProp{LR: 0.001, Centered: true}
	for name, rule := range trial.SomeOf(t, rules) {
		t.Run(name, func(t *testing.T) {
			x := lawful(rule, strategy.Strategy{})
			if x.To = 100; name == "Lars" {
				x.To = 20 // its rate jumps where a gradient is zero, and those of some later batches cancel, up to rounding
			}
			alone := x.Weights(t, trial.Cluster(0, 0))
			x.Strategy = strategy.Sync()
			if far := trial.Apart(t, alone, x.Weights(t, trial.Cluster(2, 3))); !(far <= 1e-5) {
				t.Errorf("three workers are %g away from one process, as a part of the weights' norm", far)
			}
		})
	}
}

// TestSyncIsOneTraining holds sync mode to one result, bit for bit, whatever carries the parameters and wherever they lie.
//
// Promise: [G3] a cluster's weights are the same bits across all of them
func TestSyncIsOneTraining(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	type run struct {
		cluster fleettest.Cluster
		change  func(*strategy.Strategy)
	}
	same := func(*strategy.Strategy) {}
	tcp := fleettest.Cluster{Servers: 2, Workers: 3, Endpoints: porttest.Free(t, 2), Options: fleet.Options{Transport: &transport.FastHTTP{}}}
	weights := func(t *testing.T, r run) []byte {
		s := strategy.Sync()
		r.change(&s)
		return lawful(optimizer.Adam{LR: 0.01}, s).Weights(t, r.cluster)
	}
	want := weights(t, run{trial.Cluster(2, 3), same})
	for name, r := range trial.SomeOf(t, map[string]run{
		"again":       {trial.Cluster(2, 3), same},
		"one server":  {trial.Cluster(1, 3), same},
		"more":        {trial.Cluster(3, 3), same},
		"not sliced":  {trial.Cluster(2, 3), func(s *strategy.Strategy) { s.NoSlice = true }},
		"fine slices": {trial.Cluster(3, 3), func(s *strategy.Strategy) { s.SmallBlocks, s.MinBlockSize = true, 4 }},
		"by name":     {trial.Cluster(2, 3), func(s *strategy.Strategy) { s.Placement = "HashName" }},
		"balanced":    {trial.Cluster(3, 3), func(s *strategy.Strategy) { s.Placement, s.NoSlice = "Balanced", true }},
		"zstd":        {trial.Cluster(2, 3), func(s *strategy.Strategy) { s.Codec = "zstd" }},
		"in pieces":   {trial.Cluster(2, 3), func(s *strategy.Strategy) { s.MaxFrame = 4096 }},
		"FastHTTP":    {tcp, same},
	}) {
		t.Run(name, func(t *testing.T) {
			if got := weights(t, r); !bytes.Equal(want, got) {
				t.Errorf("weights differ by up to %g", trial.Distance(t, want, got))
			}
		})
	}
}

// TestUnevenWorkers has workers with different numbers of batches end an epoch, meet, and train on.
func TestUnevenWorkers(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]strategy.Strategy{"sync": strategy.Sync(), "async": strategy.Async()} {
		t.Run(name, func(t *testing.T) {
			trial.Training{Rule: optimizer.SGD{LR: 0.01}, Strategy: s, To: 2, Ahead: true, After: uneven}.On(t, trial.Cluster(2, 3))
		})
	}
}

// uneven trains two epochs of which worker i has 2i batches more than worker 0.
func uneven(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
	for range 2 {
		for i := range 1 + 2*f.WorkerIndex() {
			if err := o.Train(ctx, trial.Samples(8, i), nil); err != nil {
				return err
			}
		}
		if err := o.Close(ctx); err != nil {
			return err
		}
		if err := o.Trainer.EndEpoch(ctx); err != nil {
			return err
		}
		if err := f.BarrierWorker(ctx); err != nil {
			return err
		}
	}
	return nil
}
