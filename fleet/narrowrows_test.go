package fleet_test

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestRowsOfFewerBits: a base and a delta whose rows are halves or 8 bits take about half and a third of the bytes, and predict nearly as
// float32s do, by a base, by its delta, and where only the delta is narrow.
//
// Promise: [G11] models with float16 or int8 rows take half or a third of the bytes, and lose at most .0005 and .002 of AUC
// Also: TestTablesDrawn (internal/overlay), TestRows (internal/narrow)
func TestRowsOfFewerBits(t *testing.T) {
	t.Parallel()
	const ids, dim, batch = 2000, 16, 500
	dirs, bytes := t.TempDir(), map[string]int64{}
	var g *nn.Graph
	r := rand.New(rand.NewPCG(1, 1))
	draw := func(n int) map[string]*tensor.Dense {
		id, label := make([]int64, 2*n), make([]float32, n)
		for i := range id {
			id[i] = r.Int64N(ids)
		}
		for i := range label {
			if odds := 2 * (math.Sin(float64(id[2*i])*1.7) + math.Sin(float64(id[2*i+1])*0.9)); r.Float64() < 1/(1+math.Exp(-odds)) {
				label[i] = 1
			}
		}
		return map[string]*tensor.Dense{"id": tensor.New(tensor.WithShape(n, 2), tensor.WithBacking(id)),
			"y": tensor.New(tensor.WithShape(n, 1), tensor.WithBacking(label))}
	}
	fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
		g = nn.NewGraph(1)
		y, wide := g.Input("y", 1), nn.EmbeddingOptions{Name: "rows", Dim: dim}
		p := nn.Linear(nn.Embedding(g.IDs("id", 2), wide), 1, nn.LinearOptions{Act: nn.Sigmoid}).Named("p")
		return trial.PlayGraph(ctx, f, nn.Mean(nn.LogLoss(p, y)), optimizer.Adagrad{LR: 0.3}, strategy.Sync(), func(exe *nn.Executor) error {
			train := func(steps int) error {
				for range steps {
					if _, err := exe.Train(ctx, draw(batch)); err != nil {
						return err
					}
				}
				return nil
			}
			o := fleet.SaveOptions{Model: nn.Inference(p)}
			if err := train(60); err != nil {
				return err
			}
			for _, mode := range []fleet.SaveMode{fleet.SaveBase, fleet.SaveDelta} {
				for _, o.Rows = range []string{"", "float16", "int8"} {
					if o.Mode = mode; mode == fleet.SaveDelta {
						o.Mode = fleet.SaveBase // each delta follows a base of its format
						if _, err := f.SaveModel(ctx, filepath.Join(dirs, "late"+o.Rows), o); err != nil {
							return err
						}
						if err := train(20); err != nil {
							return err
						}
						o.Mode = mode
					}
					saved, err := f.SaveModel(ctx, filepath.Join(dirs, mode.String()+o.Rows), o)
					if err != nil {
						return err
					}
					bytes[mode.String()+o.Rows] = saved.Bytes
				}
			}
			o.Rows = "float8"
			if _, err := f.SaveModel(ctx, filepath.Join(dirs, "none"), o); err == nil || !strings.Contains(err.Error(), `want "float16"`) {
				t.Errorf("rows of float8: %v", err)
			}
			if _, err := f.SaveModel(ctx, dirs+"/batch", fleet.SaveOptions{Mode: fleet.SaveBatch, Rows: "int8"}); err == nil {
				t.Error("a batch takes Rows")
			}
			return nil
		})
	})
	test := draw(20_000)
	auc := func(model string, deltas ...string) float64 {
		for i := range deltas {
			deltas[i] = filepath.Join(dirs, deltas[i])
		}
		m, err := serve.Load(filepath.Join(dirs, model), deltas...)
		law.Check(t, err)
		of := nn.AUC(m.Outputs[0], m.Graph.Input("y", 1))
		out, err := nn.NewExecutor(m.Graph).Eval(t.Context(), test, of)
		law.Check(t, err)
		return float64(out[0].Float32s()[0])
	}
	for as, most := range map[string]struct{ lost, bytes float64 }{"float16": {0.0005, 0.6}, "int8": {0.002, 0.42}} {
		whole, narrow := auc("SaveBase"), auc("SaveBase"+as)
		late := auc("late"+as, "SaveDelta"+as)
		share := float64(bytes["SaveBase"+as]) / float64(bytes["SaveBase"])
		t.Logf("%s: AUC %.5f for %.5f, with a delta %.5f; %.2f of %d bytes", as, narrow, whole, late, share, bytes["SaveBase"])
		if math.Abs(narrow-whole) > most.lost || share > most.bytes || late < whole-0.01 || whole < 0.75 {
			t.Errorf("%s: AUC %v for %v, with a delta %v; %.2f of the bytes", as, narrow, whole, late, share)
		}
	}
	if bytes["SaveDelta"] <= bytes["SaveDeltafloat16"] || bytes["SaveDeltafloat16"] <= bytes["SaveDeltaint8"] {
		t.Errorf("deltas have %v bytes", bytes)
	}
}
