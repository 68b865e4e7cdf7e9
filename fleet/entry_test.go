package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// picky is a training of the toy with few ids, of which entry policies keep some out for some steps or for good.
func picky(from, to int) trial.Training {
	toy := func() *trial.Toy {
		o := trial.NewToy()
		o.Emb.Entry = optimizer.Entry{CountFilter: 4}
		o.Open.Entry = optimizer.Entry{Probability: 0.5}
		return o
	}
	return trial.Training{Toy: toy, Strategy: strategy.Sync(), From: from, To: to, Batch: dealt, Ahead: true}
}

// TestEveryPushIsCounted: an id gets its row behind as many pushes as its entry wants, whoever they are of, in every mode. A round counts as
// many as workers pushed the id, steps that gradient_merge makes one are one push, and each step is a show.
//
// Promise: [G2] an id gets its row after as many pushes, or shows, as its entry requires, from any workers, in every
// mode
func TestEveryPushIsCounted(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	entries := map[string]optimizer.Entry{"count": {CountFilter: 4}, "show": {ShowClick: optimizer.ShowClick{Threshold: 1, ShowCoeff: 0.25}}}
	for mode, job := range trial.Jobs(t) {
		for name, entry := range entries {
			for _, k := range []int{1, 3} {
				if mode == string(strategy.ModeGeo) {
					continue // refused
				}
				t.Run(fmt.Sprintf("%s/%s/%d steps", mode, name, k), func(t *testing.T) {
					workers := job.Cluster.Workers
					if workers > 1 {
						workers = 3
					}
					s := job.Strategy
					s.GradientMerge.KSteps = k
					if mode == string(strategy.ModeAsync) && name == "show" {
						s.MaxMergeVarNum, s.SendQueueSize = 4, 8
					}
					want := pushes(k, workers, name == "count")
					fleettest.Run(t, job.Cluster.Servers, workers, func(ctx context.Context, f *fleet.Fleet) error {
						return letIn(ctx, f, s, entry, func(has []float32) error {
							if got := counted(want); !slices.Equal(idsOf(has), got) {
								return fmt.Errorf("rows %v, want %v of %v", idsOf(has), got, want)
							}
							return nil
						})
					})
				})
			}
		}
	}
}

// letInSteps is how many steps each worker makes.
const letInSteps = 6

// touches says whether a step of a worker has an id.
func touches(worker, step int, id uint64) bool {
	return rand.New(rand.NewPCG(id, uint64(step*8+worker))).Uint64N(16) < id
}

// pushes are how often each id is pushed, where k steps are one, or how many steps have it.
func pushes(k, workers int, merged bool) map[uint64]int {
	n := map[uint64]int{}
	for w := range workers {
		for id := uint64(1); id < 9; id++ {
			last := -1
			for step := range letInSteps {
				if touches(w, step, id) && (!merged || step/k != last) {
					n[id]++
					last = step / k
				}
			}
		}
	}
	return n
}

// counted are the ids that were pushed four times.
func counted(n map[uint64]int) (ids []uint64) {
	for _, id := range slices.Sorted(maps.Keys(n)) {
		if n[id] >= 4 {
			ids = append(ids, id)
		}
	}
	return ids
}

// idsOf are the ids of rows of two columns.
func idsOf(rows []float32) (ids []uint64) {
	for i := 0; i < len(rows); i += 3 {
		ids = append(ids, uint64(rows[i]))
	}
	return ids
}

// letIn trains, and has worker 0 look at the rows that there are then.
func letIn(ctx context.Context, f *fleet.Fleet, s strategy.Strategy, entry optimizer.Entry, look func([]float32) error) error {
	c := trial.NewCounter(4)
	c.Rows.Entry = entry
	return c.Play(ctx, f, s, func() error {
		return c.InSession(ctx, func(session optimizer.Session) error {
			for step := range letInSteps {
				c.IDs = nil
				for id := uint64(1); id < 9; id++ {
					if touches(f.WorkerIndex(), step, id) {
						c.IDs = append(c.IDs, id)
					}
				}
				if err := c.Steps(ctx, session, 1); err != nil {
					return err
				}
			}
			if err := errors.Join(c.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil || !f.IsFirstWorker() {
				return err
			}
			has, err := rowsOf(ctx, f)
			return errors.Join(err, look(has))
		})
	})
}

// TestCountsOutliveServers stops a job while ids wait for their row and goes on with another number of servers.
func TestCountsOutliveServers(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	whole := picky(0, 12).Weights(t, trial.Cluster(2, 3))
	half, rest := picky(0, 5), picky(5, 12)
	half.Save = t.TempDir()
	half.On(t, trial.Cluster(2, 3))
	rest.Load = half.Save
	if far := trial.Distance(t, whole, rest.Weights(t, trial.Cluster(3, 3))); far != 0 {
		t.Errorf("a job that was stopped ends %g away from one that wasn't", far)
	}
}
