package fleet_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// clips are rules whose gradients are mostly too long for them: the toy's are about 1.8 for big and 0.05 for b.
func clips() map[string]optimizer.Rule {
	return map[string]optimizer.Rule{
		"each": optimizer.ClipByNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.02},
		"all":  optimizer.ClipByGlobalNorm{Rule: optimizer.SGD{LR: 0.1}, Norm: 0.05},
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
