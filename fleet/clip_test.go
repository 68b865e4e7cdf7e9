package fleet_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
	"github.com/gofleet/gofleet/transport"
	"github.com/gofleet/gofleet/transport/transporttest"
)

// clips are rules whose gradients are mostly too long for them: the toy's are about 1.8 for big and 0.05 for b.
func clips() map[string]optimizer.Rule {
	return map[string]optimizer.Rule{
		"each": optimizer.ClipByNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.02},
		"all":  optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.05},
		"but":  optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.05, Except: []string{"b", "emb"}},
		"around": optimizer.ClipByGlobalNorm{Norm: 0.05, Rule: optimizer.PerParam{Rule: optimizer.ClipByValue{Rule: optimizer.SGD{LR: 0.1}, Max: 0.001},
			By: map[string]optimizer.Rule{"emb": optimizer.SGD{LR: 0.5}}}},
	}
}

// steadily trains the toy on batches without looking ahead, so that a single worker's steps see all that came before, and saves
// the model.
func steadily(t *testing.T, c fleettest.Cluster, rule optimizer.Rule, s strategy.Strategy, steps int, batch func(worker, step int) []sample) []byte {
	t.Helper()
	dir := t.TempDir()
	c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		return train(ctx, f, rule, s, 0, func(o *toy) error {
			for i := range steps {
				if err := o.train(ctx, batch(f.WorkerIndex(), i), nil); err != nil {
					return err
				}
			}
			if err := o.session.Close(ctx); err != nil {
				return err
			}
			if err := o.trainer.EndEpoch(ctx); err != nil {
				return err
			}
			return saveFirst(ctx, f, dir)(o)
		})
	})
	return read(t, filepath.Join(dir, "weights.safetensors"))
}

// TestClipOnTheWorker: where each push is an update, one worker with servers trains as one process does, whose gradients are
// clipped too.
func TestClipOnTheWorker(t *testing.T) {
	batch := func(_, step int) []sample { return samples(24, step) }
	for name, rule := range clips() {
		alone := steadily(t, fleettest.Cluster{}, rule, strategy.Strategy{}, lawSteps, batch)
		free := steadily(t, fleettest.Cluster{}, optimizer.SGD{LR: 0.1}, strategy.Strategy{}, lawSteps, batch)
		if distance(t, alone, free) < 1e-3 {
			t.Errorf("%s: nothing was clipped", name)
		}
		for _, s := range []strategy.Strategy{strategy.Async(), strategy.HalfAsync(), strategy.SSP(1), strategy.Geo(3)} {
			t.Run(name+" "+string(s.Mode), func(t *testing.T) {
				got := steadily(t, fleettest.Cluster{Servers: 2, Workers: 1}, rule, s, lawSteps, batch)
				if far := distance(t, alone, got); far > 1e-5 {
					t.Errorf("%g away from one process", far)
				}
			})
		}
	}
}

// part is worker w's third of the batch that one process trains on.
func part(worker, step int) []sample { return samples(24, step)[8*worker:][:8] }

// TestClipInRounds: in mode sync the gradient of the joined batch is clipped, as one process does it, to the same bits however many
// servers share it.
func TestClipInRounds(t *testing.T) {
	for name, rule := range clips() {
		alone := steadily(t, fleettest.Cluster{}, rule, strategy.Strategy{}, lawSteps, func(_, step int) []sample { return samples(24, step) })
		var first []byte
		for _, servers := range []int{2, 1, 3, 5} {
			s := strategy.Sync()
			s.NoSlice = servers == 3
			got := steadily(t, fleettest.Cluster{Servers: servers, Workers: 3}, rule, s, lawSteps, part)
			if far := distance(t, alone, got); far > 1e-5 {
				t.Errorf("%s: %d servers are %g away from one process", name, servers, far)
			}
			if first == nil {
				first = got
			}
			if !bytes.Equal(first, got) {
				t.Errorf("%s: %d servers are %g away from two", name, servers, distance(t, first, got))
			}
		}
	}
}

// TestClipUnderFaults loses, repeats and reorders messages, those between servers too: the weights are the same to the last bit.
func TestClipUnderFaults(t *testing.T) {
	rule := clips()["all"]
	want := steadily(t, fleettest.Cluster{Servers: 2, Workers: 3}, rule, strategy.Sync(), lawSteps, part)
	for seed := range uint64(3) {
		network := transporttest.NewFaulty(transport.NewMemory(), seed, transporttest.Faults{LoseRequest: 0.05, LoseAnswer: 0.1, Duplicate: 0.1, Reorder: 0.05})
		got := steadily(t, fleettest.Cluster{Servers: 3, Workers: 3, Options: fleet.Options{Transport: network}}, rule, strategy.Sync(), lawSteps, part)
		if !bytes.Equal(want, got) {
			t.Errorf("seed %d: weights are %g away", seed, distance(t, want, got))
		}
	}
}

// TestWorkerDiesWhileGradientsAreMeasured has a worker fall silent after its push has reached only one server, which then waits for
// the other's sums: the job goes on.
func TestWorkerDiesWhileGradientsAreMeasured(t *testing.T) {
	for reached := range 2 {
		s := strategy.Sync()
		s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(400*time.Millisecond), strategy.Duration(20*time.Millisecond)
		net := transport.NewMemory()
		c := fleettest.Cluster{Servers: 2, Workers: 3, Options: fleet.Options{Transport: net}}
		errs := c.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			if f.WorkerIndex() == 1 {
				return dieHalfway(ctx, f, net, clips()["all"], s, reached)
			}
			return train(ctx, f, clips()["all"], s, 6, nil)
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
	for _, s := range []strategy.Strategy{strategy.Sync(), strategy.Async()} {
		for role, err := range (fleettest.Cluster{Servers: 2, Workers: 1}).Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
			return train(ctx, f, halving{optimizer.SGD{LR: 0.1}}, s, 2, nil)
		}) {
			if refused := err != nil && strings.Contains(err.Error(), "NormClipper"); refused != (s.Mode == strategy.ModeSync) {
				t.Errorf("%s, %s: error %v", s.Mode, role, err)
			}
		}
	}
}
