package fleet_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestEvictedTablesPredict: where the popular ids change by the day, a table of half the rows that come has nearly the AUC of one with
// all of them if it drops what was not used for longest, or scores lowest where scores decay by the day, and less if it turns new ids away.
//
// Promise: [G2] a table of half the memory that evicts rows predicts as well as a full one, where one that turns ids
// away does not
func TestEvictedTablesPredict(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const days, batches, batch, ids = 12, 20, 500, 3000
	auc := func(bytes int64, e optimizer.Evict) float64 {
		sum := 0.0
		fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
			g := nn.NewGraph(1)
			y := g.Input("y", 1)
			o := nn.EmbeddingOptions{Name: "rows", Dim: 1, Init: optimizer.Constant{}, MaxBytes: bytes, Evict: e, Show: g.Input("show", 1), Click: y}
			o.Entry.ShowClick.Threshold = 0.01
			p := nn.Sigmoid(nn.Embedding(g.IDs("id", 1), o))
			loss, of := nn.Mean(nn.LogLoss(p, y)), nn.AUC(p, y)
			return trial.PlayGraph(ctx, f, loss, optimizer.Adagrad{LR: 1}, strategy.Sync(), func(exe *nn.Executor) error {
				r := rand.New(rand.NewPCG(3, 1))
				for day := range days {
					exe.ResetMetrics()
					last := float32(0)
					for range batches {
						id, label, show := make([]int64, batch), make([]float32, batch), make([]float32, batch)
						for i := range id {
							at := int64(ids*math.Pow(r.Float64(), 3)) + int64(day*ids/4) // the most popular ones change
							id[i], show[i] = at, 1
							if odds := 3 * math.Sin(float64(at)*1.7); r.Float64() < 1/(1+math.Exp(-odds)) {
								label[i] = 1
							}
						}
						feed := map[string]*tensor.Dense{"id": tensor.New(tensor.WithShape(batch, 1), tensor.WithBacking(id)),
							"y":    tensor.New(tensor.WithShape(batch, 1), tensor.WithBacking(label)),
							"show": tensor.New(tensor.WithShape(batch, 1), tensor.WithBacking(show))}
						out, err := exe.Eval(ctx, feed, of)
						if err == nil {
							last = out[0].Float32s()[0]
							_, err = exe.Train(ctx, feed)
						}
						if err != nil {
							return err
						}
					}
					sum += float64(last) / days
					if _, err := f.Shrink(ctx, fleet.ShrinkOptions{Decay: 0.5}); err != nil {
						return err
					}
				}
				return nil
			})
		})
		return sum
	}
	full := auc(0, optimizer.Evict{})
	const half = 450_000
	away, unused, score := auc(half, optimizer.Evict{}), auc(half, optimizer.Evict{By: optimizer.EvictUnused}), auc(half, optimizer.Evict{By: optimizer.EvictScore, Floor: 20})
	t.Logf("AUC before training, mean of the days: full %.4f, unused %.4f, score %.4f, turned away %.4f", full, unused, score, away)
	if unused < full-0.002 || score < full-0.002 || away > unused-0.01 {
		t.Errorf("AUC: full %.4f, unused %.4f, score %.4f, turned away %.4f", full, unused, score, away)
	}
}
