package fleet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofleet/gofleet/internal/backend"
	"github.com/gofleet/gofleet/internal/rules"
)

// SetRate makes rate the learning rate of a job that trains, in place of the LR that its rule was given. Rules of a
// PerParam keep their proportion to it: with optimizer.PerParam{Rule: Adam{LR: 0.01}, By: {"emb": Adagrad{LR: 0.1}}},
// SetRate(ctx, 0.001) is 0.01 for "emb". A rule with a Schedule has no rate to replace and takes [Fleet.SetRateFactor]
// alone; here it is an error.
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
// Worker 0 sets the rate, between its steps, for all, and where it has died the lowest worker that lives, of which is
// true what is said of worker 0 here; other workers get an error. It counts:
//
//   - in sync, from the update that worker 0's next step is part of, on every server; after EndEpoch or BarrierWorker
//     that is the first of the next epoch. So a cluster goes on being one process on the joined batch.
//   - in a collective job likewise, for every worker. With LocalSGD it counts for all from their next exchange on.
//   - in async, half_async and ssp, from the next update that each server makes. When SetRate returns, what worker 0
//     gave before was trained at the old rate, and all servers have the new one.
//   - in geo, for worker 0's own steps at once, and for the others when their next exchange ends.
//   - in a process alone, from the next update.
//
// Where gradients are merged, the update that they make together has the rate of its own time. A checkpoint holds the
// rate, and a job that begins from all of one goes on with it; one that takes some params of it begins with the rule's.
// A model for inference holds none.
func (f *Fleet) SetRate(ctx context.Context, rate float64) error {
	j, err := f.workerCall("SetRate")
	if err != nil {
		return err
	}
	factor, err := rules.RateFactor(j.rule, rate)
	if err != nil {
		return fmt.Errorf("fleet: SetRate: %w", err)
	}
	return f.setRateFactor(ctx, "SetRate", factor)
}

// SetRateFactor multiplies the learning rates of all rules, be they an LR or a Schedule's, in place of an earlier
// factor; 1 is what the rules say. Who may call it and when it counts is as with [Fleet.SetRate], which sets the factor
// that makes a rate of an LR.
func (f *Fleet) SetRateFactor(ctx context.Context, factor float64) error {
	return f.setRateFactor(ctx, "SetRateFactor", factor)
}

func (f *Fleet) setRateFactor(ctx context.Context, call string, factor float64) error {
	j, err := f.worker(ctx, call)
	if err != nil {
		return err
	}
	if !f.IsFirstWorker() {
		switch leads, err := j.backend.Saves(ctx, false); {
		case err != nil && !errors.Is(err, backend.ErrNotJoined):
			return named(call, err)
		case !leads:
			return fmt.Errorf("fleet: %s: this is %v: worker 0 sets the rate, for all, and when it has died the "+
				"lowest worker that lives: %w", call, f, ErrRole)
		}
	}
	if err := rules.CheckRateFactor(j.rule, j.layout.Params, factor); err != nil {
		return fmt.Errorf("fleet: %s: %w", call, err)
	}
	return named(call, j.backend.SetRateFactor(ctx, factor))
}

// RateFactor is the factor on the learning rates that was set last, 1 if none was: in a job that began from a
// checkpoint, that of the checkpoint. Any worker may ask; one of a collective job knows of a new factor when it counts
// there.
//
//	plateau := lr.ReduceOnPlateau{LR: 1e-3 * factor}
func (f *Fleet) RateFactor(ctx context.Context) (float64, error) {
	j, err := f.worker(ctx, "RateFactor")
	if err != nil {
		return 0, err
	}
	factor, err := j.backend.RateFactor(ctx)
	return factor, named("RateFactor", err)
}
