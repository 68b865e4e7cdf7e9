package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// TestAModelWithoutRows saves a model with an embedding that has no rows yet, because nothing was trained or its entry lets no id
// in so early, and loads it: it says what it said when it was saved.
func TestAModelWithoutRows(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, size := range [][2]int{{0, 1}, {0, 2}, {2, 1}} {
		for _, height := range []int{0, 50} {
			for _, filter := range []int{0, 50} {
				t.Run(fmt.Sprintf("%d servers, %d workers, height %d, count filter %d", size[0], size[1], height, filter), func(t *testing.T) {
					r := &rare{dir: t.TempDir(), height: height, filter: filter}
					fleettest.Cluster{Servers: size[0], Workers: size[1]}.Run(t, r.run)
					m, err := nn.Load(r.dir)
					if err != nil {
						t.Fatal(err)
					}
					got, err := nn.NewExecutor(m.Graph).Eval(t.Context(), r.feed(), m.Outputs[0])
					if err != nil || !slices.Equal(got[0].Float32s(), r.says) {
						t.Errorf("the loaded model says %v, error %v, want %v", got, err, r.says)
					}
				})
			}
		}
	}
}

// rare is a job with an embedding that gets no rows.
type rare struct {
	dir            string
	height, filter int
	says           []float32
}

func (r *rare) feed() map[string]*gorgonia.Dense {
	ids := gorgonia.New(gorgonia.WithShape(3), gorgonia.WithBacking([]int64{1, 2, 3}))
	return map[string]*gorgonia.Dense{"ids": ids}
}

func (r *rare) run(ctx context.Context, f *fleet.Fleet) error {
	g := nn.NewGraph(1)
	ids := g.IDs("ids")
	often := nn.Embedding(ids, nn.EmbeddingOptions{Name: "often", Dim: 2})
	seldom := nn.Embedding(ids, nn.EmbeddingOptions{Name: "rare", Dim: 2, Height: r.height, Entry: optimizer.Entry{CountFilter: r.filter}})
	out := nn.Linear(nn.Concat(often, seldom), 1, nn.LinearOptions{})
	return trial.Play(ctx, f, nn.Mean(nn.Multiply(out, out)), optimizer.SGD{LR: 0.1}, strategy.Sync(), func() error {
		e := nn.NewExecutor(g)
		for range r.filter / 25 {
			if _, err := e.Train(ctx, r.feed()); err != nil {
				return err
			}
		}
		says, err := e.Eval(ctx, r.feed(), out)
		if err != nil || !f.IsFirstWorker() {
			return err
		}
		r.says = slices.Clone(says[0].Float32s())
		return f.SaveInferenceModel(ctx, r.dir, nn.Inference(out))
	})
}
