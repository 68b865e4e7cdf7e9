package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
	"github.com/gofleet/gofleet/strategy"
)

// TestRanksStayAlike draws jobs of workers without servers, with gradients that are not finite and skipped, evaluations, periods that end
// and uneven shares: behind every epoch all workers have the same rows, to the bit.
//
// Promise: [G2] tables of workers without servers stay the same bits, whatever gradients are skipped, and whatever
// periods drop
func TestRanksStayAlike(t *testing.T) {
	t.Parallel()
	trial.EachSeed(t, 40, func(seed trial.Seed) {
		r := rand.New(rand.NewPCG(seed.N, 17))
		workers := 2 + r.IntN(2)
		rule := []optimizer.Rule{optimizer.SGD{LR: .1}, optimizer.Adam{LR: .05}, optimizer.Decay{Rule: optimizer.SGD{LR: .1}, L2: .01}}[r.IntN(3)]
		entry := []optimizer.Entry{{}, {}, {CountFilter: 2}, {Probability: 0.6}}[r.IntN(4)]
		s := strategy.Sync()
		s.NotFinite = strategy.NotFiniteSkip
		if r.IntN(3) == 0 {
			s.GradientMerge.KSteps = 2
		}
		draws := r.Uint64()
		seen := make([][]float32, workers)
		all := newRendezvous(workers)
		fleettest.Run(t, 0, workers, func(ctx context.Context, f *fleet.Fleet) error {
			w := f.WorkerIndex()
			m := &trial.Pulled{Objective: trial.Objective{List: []*optimizer.Param{trial.Dense("w", nil, 3),
				trial.Embedding("rows", optimizer.Uniform{Low: -1, High: 1}, 0, 2)}}}
			m.List[1].Entry = entry
			return trial.Play(ctx, f, m, rule, s, func() error {
				return m.InSession(ctx, func(session optimizer.Session) error {
					own, together := rand.New(rand.NewPCG(draws, uint64(w))), rand.New(rand.NewPCG(draws, 99))
					for epoch := range 4 {
						for range own.IntN(4) {
							var ids []uint64
							for id := range uint64(6) {
								if own.IntN(3) == 0 {
									ids = append(ids, id)
								}
							}
							st := m.Step(trial.Batch{X: own.Float32(), Samples: 1 + own.IntN(3), IDs: [][]uint64{ids}}, nil)
							spoilt := own.IntN(2) == 0
							err := trial.Step(ctx, session, st, func() {
								_ = m.Gradients(st, 0.25)
								if spoilt && len(ids) > 0 {
									st.Rows[0].G[0] = float32(math.Inf(1))
								}
							})
							if err != nil {
								return err
							}
						}
						if err := errors.Join(m.Trainer.EndEpoch(ctx), f.BarrierWorker(ctx)); err != nil {
							return err
						}
						if together.IntN(2) == 0 {
							if _, err := f.Shrink(ctx, fleet.ShrinkOptions{Unseen: uint32(1 + together.IntN(2))}); err != nil {
								return err
							}
						}
						has, err := rowsOf(ctx, f)
						if err != nil {
							return err
						}
						seen[w] = has
						if err := all.wait(ctx); err != nil {
							return err
						}
						if !slices.Equal(seen[0], has) {
							return fmt.Errorf("seed %d, epoch %d: worker %d has rows %v, worker 0 %v", seed.N, epoch, w, has, seen[0])
						}
						if err := all.wait(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			})
		})
	})
}

// rowsOf are a worker's rows in order: id and weights.
func rowsOf(ctx context.Context, f *fleet.Fleet) (all []float32, err error) {
	var rows []weights.Row
	for r, err := range f.Rows(ctx, "rows") {
		if err != nil {
			return nil, err
		}
		rows = append(rows, weights.Row{ID: r.ID, W: slices.Clone(r.W)})
	}
	slices.SortFunc(rows, func(a, b weights.Row) int { return int(a.ID) - int(b.ID) })
	for _, r := range rows {
		all = append(append(all, float32(r.ID)), r.W...)
	}
	return all, nil
}
