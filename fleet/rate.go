package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/rules"
)

// SetRate changes the learning rate of a running job, replacing the LR of its rule. Rules of a PerParam keep their
// proportion to it: with optimizer.PerParam{Rule: Adam{LR: 0.01}, By: {"emb": Adagrad{LR: 0.1}}}, SetRate(ctx, 0.001)
// is 0.01 for "emb". A rule with a Schedule has no rate to replace: SetRate returns an error, and only
// [Fleet.SetRateFactor] applies.
//
//	plateau := lr.ReduceOnPlateau{LR: 1e-3}
//	for range epochs {
//		…                                   // train and evaluate
//		plateau.Step(loss)
//		if f.IsFirstWorker() {
//			err = f.SetRate(ctx, plateau.Rate())
//		}
//	}
//
// Worker 0 sets the rate for all workers, between its steps. If worker 0 has died, the lowest live worker takes its
// place in all that follows. Other workers get an error. The rate takes effect:
//
//   - in sync, on every server with the update that worker 0's next step is part of; after EndEpoch or BarrierWorker
//     that is the first update of the next epoch. The job stays equal to one process on the joined batch.
//   - in a collective job likewise, for every worker. With LocalSGD it takes effect for all workers with their next
//     exchange.
//   - in async, half_async and ssp, from the next update that each server makes. When SetRate returns, worker 0's
//     earlier gradients have been applied at the old rate, and all servers have the new one.
//   - in geo, at once for worker 0's own steps, and for other workers when their next exchange ends.
//   - in a process alone, from the next update.
//
// Merged gradients are applied at the rate in effect at the time of their joint update. A checkpoint holds the rate: a
// job that restores all of a checkpoint continues with that rate, and a job that restores only some params begins with
// the rule's. A model for inference holds no rate.
func (f *Fleet) SetRate(ctx context.Context, rate float64) error {
	j, err := f.workerCall("SetRate")
	if err != nil {
		return err
	}
	factor, err := rules.RateFactor(j.Rule, rate)
	if err != nil {
		return fmt.Errorf("fleet: SetRate: %w", err)
	}
	return f.setRateFactor(ctx, "SetRate", factor)
}

// SetRateFactor multiplies the learning rates of all rules, from an LR or a Schedule, by factor, which replaces an
// earlier factor; 1 restores the rules' own rates. The same worker may call it, and it takes effect at the same time,
// as with [Fleet.SetRate], which is defined by a factor too.
func (f *Fleet) SetRateFactor(ctx context.Context, factor float64) error {
	return f.setRateFactor(ctx, "SetRateFactor", factor)
}

func (f *Fleet) setRateFactor(ctx context.Context, call string, factor float64) error {
	j, err := f.worker(ctx, call)
	if err != nil {
		return err
	}
	if !f.IsFirstWorker() && !f.leads.Load() {
		switch leads, err := j.Backend.Saves(ctx, false); {
		case err != nil && !errors.Is(err, backend.ErrNotJoined):
			return named(call, err)
		case !leads:
			return fmt.Errorf("fleet: %s: this is %v: worker 0 sets the rate, for all, and when it has died the "+
				"lowest worker that lives: %w", call, f, ErrRole)
		}
	}
	if err := rules.CheckRateFactor(j.Rule, j.Layout.Params, factor); err != nil {
		return fmt.Errorf("fleet: %s: %w", call, err)
	}
	return named(call, j.Backend.SetRateFactor(ctx, factor))
}

// RateFactor returns the factor on learning rates that was set last, 1 if none was; a job that began from a checkpoint
// has the checkpoint's factor. Any worker may call it; in a collective job a worker sees a new factor when it takes
// effect there.
//
//	plateau := lr.ReduceOnPlateau{LR: 1e-3 * factor}
func (f *Fleet) RateFactor(ctx context.Context) (float64, error) {
	j, err := f.worker(ctx, "RateFactor")
	if err != nil {
		return 0, err
	}
	factor, err := j.Backend.RateFactor(ctx)
	return factor, named("RateFactor", err)
}
