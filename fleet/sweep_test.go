package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// halting is a rule for an embedding whose update stands still where a test wants to look: the rows of the next embedding come
// after it.
type halting struct{ optimizer.SGD }

// halt is where it stands still next; nil for nowhere.
var halt atomic.Pointer[halted]

type halted struct{ reached, goOn chan struct{} }

func (r halting) Update(w, g, state []float32, s *optimizer.State) {
	if h := halt.Swap(nil); h != nil {
		close(h.reached)
		<-h.goOn
	}
	r.SGD.Update(w, g, state, s)
}

// TestReadsBesideAnUpdateSeeItWholeOrNot has an evaluation read rows while an update is half made, under a rule that moves rows
// in each step: it sees them as they were before that update, and the update finds them so.
//
// Promise: [G1] where a rule moves rows in steps that don't touch them, each update moves a row once, whoever reads
// or pushes beside it
// Also: TestSweepsBesideUpdates (internal/table)
func TestReadsBesideAnUpdateSeeItWholeOrNot(t *testing.T) {
	t.Parallel()
	for name, job := range map[string]struct {
		servers  int
		strategy strategy.Strategy
	}{"sync": {1, strategy.Sync()}, "async": {1, strategy.Async()}, "alone": {0, strategy.Sync()}} {
		t.Run(name, func(t *testing.T) {
			rule := optimizer.PerParam{Rule: optimizer.Adam{LR: 0.1, Dense: true}, By: map[string]optimizer.Rule{"emb": halting{optimizer.SGD{LR: 0.01}}}}
			var models [2][]byte
			for i := range models {
				models[i] = trial.Training{Rule: rule, Strategy: job.strategy, After: func(ctx context.Context, f *fleet.Fleet, o *trial.Toy) error {
					return trainTwice(ctx, f, o, i == 1)
				}}.Weights(t, trial.Cluster(job.servers, 1))
			}
			if far := trial.Distance(t, models[0], models[1]); far != 0 {
				t.Errorf("weights that were read beside an update are %g away from others", far)
			}
		})
	}
}

// trainTwice makes two steps; in the second, an evaluation may read what the first has trained, when the update has begun and has
// not come to the rows.
func trainTwice(ctx context.Context, f *fleet.Fleet, o *trial.Toy, look bool) error {
	if err := o.Train(ctx, trial.Samples(4, 0), nil); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil || !look {
		return errors.Join(err, o.Train(ctx, trial.Samples(4, 0), nil))
	}
	before, err := evaluated(ctx, o.Trainer)
	if err != nil {
		return err
	}
	h := &halted{reached: make(chan struct{}), goOn: make(chan struct{})}
	halt.Store(h)
	var trained error
	var training sync.WaitGroup
	training.Go(func() { trained = o.Train(ctx, trial.Samples(4, 0), nil) })
	<-h.reached
	beside, err := evaluated(ctx, o.Trainer)
	close(h.goOn)
	training.Wait()
	if err == nil && trained == nil && !slices.Equal(before, beside) {
		return fmt.Errorf("beside an update that is half made rows are %v, before it they were %v", beside, before)
	}
	return errors.Join(err, trained)
}

// evaluated are rows of the toy's second embedding as an evaluation sees them.
func evaluated(ctx context.Context, trainer optimizer.Trainer) ([]float32, error) {
	o := trial.NewToy()
	o.Bind(trainer)
	rows := o.Step(trial.Samples(4, 0), nil).Rows
	rows[0].IDs, rows[0].W = nil, nil
	err := o.InSession(ctx, func(s optimizer.Session) error { return trial.Look(ctx, s, rows...) })
	return rows[1].W, err
}
