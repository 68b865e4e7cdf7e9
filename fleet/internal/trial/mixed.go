package trial

import (
	"context"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// Mixed returns a graph with params of every kind: dense ones, the statistics of batch norm, and tables with a height
// and without.
func Mixed() (out, loss *nn.Node) {
	g := nn.NewGraph(7)
	x, ids := g.Input("x", 3), g.IDs("ids", 2)
	h := nn.Concat(nn.Embedding(ids, nn.EmbeddingOptions{Name: "high", Height: 40, Dim: 2}),
		nn.Embedding(ids, nn.EmbeddingOptions{Name: "open", Dim: 3}),
		nn.BatchNorm(nn.Linear(x, 4, nn.LinearOptions{Act: nn.ReLU}), nn.NormOptions{}))
	out = nn.Sigmoid(nn.Linear(h, 1, nn.LinearOptions{}))
	return out, Loss(out)
}

// Loss returns the loss of a mixed graph's output, or of a loaded one's.
func Loss(out *nn.Node) *nn.Node {
	return nn.Mean(nn.SquareError(out, out.Graph().Input("y", 1)))
}

// MixedBatch returns a batch of n examples with the ids [first, first+2n).
func MixedBatch(n int, first int64) map[string]*gorgonia.Dense {
	x, y, ids := make([]float32, 3*n), make([]float32, n), make([]int64, 2*n)
	for i := range x {
		x[i] = float32(i*i%7)/7 - 0.4
	}
	for i := range y {
		y[i] = float32(i % 2)
	}
	for i := range ids {
		ids[i] = first + int64(i)
	}
	return map[string]*gorgonia.Dense{
		"x":   gorgonia.New(gorgonia.WithShape(n, 3), gorgonia.WithBacking(x)),
		"y":   gorgonia.New(gorgonia.WithShape(n, 1), gorgonia.WithBacking(y)),
		"ids": gorgonia.New(gorgonia.WithShape(n, 2), gorgonia.WithBacking(ids)),
	}
}

// MixedModel returns the directory of a mixed model that a process alone has trained on the ids 0 to 15.
func MixedModel(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	Cluster(0, 1).Run(t, func(ctx context.Context, f *fleet.Fleet) error {
		out, loss := Mixed()
		return PlayGraph(ctx, f, loss, optimizer.Adam{LR: 0.05}, strategy.Sync(), func(exe *nn.Executor) error {
			for range 5 {
				if _, err := exe.Train(ctx, MixedBatch(8, 0)); err != nil {
					return err
				}
			}
			return f.SaveInferenceModel(ctx, dir, nn.Inference(out))
		})
	})
	return dir
}

// SaveTogether makes worker 0 save a model after all workers have reached this call.
func SaveTogether(ctx context.Context, f *fleet.Fleet, dir string, m optimizer.Model) error {
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	if f.IsFirstWorker() {
		if err := f.SaveInferenceModel(ctx, dir, m); err != nil {
			return err
		}
	}
	return f.BarrierWorker(ctx)
}
