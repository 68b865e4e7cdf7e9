package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestWhatIsNotFiniteIsNamedByItsFeed: a NaN in a feed is refused by feed, row and column, in every mode, with servers, without
// and alone, also when the gradients of several batches go as one; and where the strategy skips such gradients, training goes on.
func TestWhatIsNotFiniteIsNamedByItsFeed(t *testing.T) {
	t.Parallel()
	jobs := map[string]struct {
		servers, workers int
		s                strategy.Strategy
		want             string
	}{
		"alone":          {0, 1, strategy.Strategy{}, `nn: feed "num" (culprit_test.go:63), row 1, column 1 is NaN: `},
		"collective":     {0, 2, strategy.Strategy{}, `nn: feed "num" (culprit_test.go:63), row 1, column 1 is NaN: `},
		"localsgd":       {0, 2, strategy.Strategy{LocalSGD: strategy.LocalSGD{KSteps: 2}}, `nn: feed "num" (culprit_test.go:63), row 1, column 1 is NaN: `},
		"merged":         {1, 1, strategy.Strategy{Mode: strategy.ModeSync, GradientMerge: strategy.GradientMerge{KSteps: 3}}, `column 1 is NaN, in the batch 2 before this: `},
		"merged, a rest": {1, 1, strategy.Strategy{Mode: strategy.ModeAsync, GradientMerge: strategy.GradientMerge{KSteps: 9}}, `column 1 is NaN, in the batch `},
	}
	for _, mode := range strategy.Modes() {
		job := jobs["alone"]
		job.servers, job.s.Mode = 1, mode
		jobs[string(mode)] = job
	}
	for name, job := range jobs {
		t.Run(name, func(t *testing.T) {
			for _, policy := range []strategy.NotFinite{strategy.NotFiniteRefuse, strategy.NotFiniteSkip} {
				job.s.NotFinite = policy
				errs := fleettest.Cluster{Servers: job.servers, Workers: job.workers}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
					return trainOnNaN(ctx, f, job.s)
				})
				err := errors.Join(errs["worker 0"], errs["worker 1"]) // whoever is first; the other is told that a rank is gone
				if policy == strategy.NotFiniteSkip && err != nil {
					t.Errorf("skipped: %v", err)
				}
				if policy == strategy.NotFiniteRefuse && (err == nil || !strings.Contains(err.Error(), job.want) || !strings.Contains(err.Error(), "the gradient of ")) {
					t.Errorf("%v does not say %q", err, job.want)
				}
			}
		})
	}
}

// trainOnNaN trains on five batches, of which the first has a NaN.
func trainOnNaN(ctx context.Context, f *fleet.Fleet, s strategy.Strategy) error {
	g := nn.NewGraph(1)
	h := nn.Concat(g.Input("num", 3), nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Dim: 2}))
	if f.ServerNum() == 0 && s.LocalSGD.KSteps > 0 {
		h = g.Node("num") // copies that drift apart have no embeddings
	}
	loss := nn.Mean(nn.LogLoss(nn.Linear(h, 1, nn.LinearOptions{Act: nn.Sigmoid}), g.Input("label", 1)))
	return trial.Play(ctx, f, loss, optimizer.SGD{LR: 0.1}, s, func() error {
		res, err := nn.NewExecutor(g).TrainFrom(ctx, func(yield func(map[string]*gorgonia.Dense, error) bool) {
			for i := range 5 {
				x := []float32{1, 2, 3, 4, 5, 6}
				if i == 0 {
					x[4] = float32(math.NaN())
				}
				batch := map[string]*gorgonia.Dense{
					"num":   gorgonia.New(gorgonia.WithShape(2, 3), gorgonia.WithBacking(x)),
					"id":    gorgonia.New(gorgonia.WithShape(2, 1), gorgonia.WithBacking([]int64{int64(i), 7})),
					"label": gorgonia.New(gorgonia.WithShape(2, 1), gorgonia.WithBacking([]float32{0, 1})),
				}
				if !yield(batch, nil) {
					return
				}
			}
		}, nn.TrainOptions{})
		if err == nil && res.Steps != 5 {
			err = fmt.Errorf("%d steps", res.Steps)
		}
		if err != nil {
			err = errors.Join(err, f.StopWorker(ctx)) // so that servers need not miss it
		}
		return err
	})
}
