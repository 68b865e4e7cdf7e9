package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
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
					m, err := serve.Load(r.dir)
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

// TestUntrainedParamsAreNotSaved: a model whose outputs depend on params that the loss does not is refused, unless they
// are frozen: they would have their first values. So are a model that is nil and a directory without a name.
func TestUntrainedParamsAreNotSaved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]fleettest.Cluster{"alone": trial.Cluster(0, 1), "collective": trial.Cluster(0, 2), "with servers": trial.Cluster(2, 1)} {
		t.Run(name, func(t *testing.T) {
			c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				x := g.Input("x", 2)
				click := nn.Linear(x, 1, nn.LinearOptions{Name: "click"})
				like := nn.Linear(x, 1, nn.LinearOptions{Name: "like"})
				scaled := nn.Multiply(click, g.Parameter(nn.ParameterOptions{Name: "scale", Frozen: true}, 1))
				return trial.Play(ctx, f, nn.Mean(nn.Square(click)), optimizer.SGD{LR: 0.1}, strategy.Sync(), func() error {
					for what, c := range map[string]struct {
						dir, says string
						m         optimizer.Model
					}{
						"a head beside the loss": {t.TempDir(), `param "like.w_0" is not part of what was minimised, so that nothing trains it: add`, nn.Inference(click, like)},
						"no model":               {t.TempDir(), "the model is nil", nil},
						"no directory":           {"", "the directory's name is empty", nn.Inference(click)},
					} {
						if err := f.SaveInferenceModel(ctx, c.dir, c.m); err == nil || !strings.Contains(err.Error(), c.says) {
							t.Errorf("%s: %v does not say %q", what, err, c.says)
						}
					}
					if err := f.SavePersistables(ctx, ""); err == nil || !strings.Contains(err.Error(), "the directory's name is empty") {
						t.Errorf("a checkpoint without a directory: %v", err)
					}
					return f.SaveInferenceModel(ctx, t.TempDir(), nn.Inference(scaled))
				})
			})
		})
	}
	if _, err := serve.Load(""); err == nil || !strings.Contains(err.Error(), "the directory's name is empty") {
		t.Errorf("serve.Load: %v", err)
	}
}
