package fleet_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	gorgonia "gorgonia.org/tensor"

	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// squares has the values id² and id²+1/2.
type squares struct{}

func (squares) Fill(w []float32, _ uint64) { clear(w) }

func (squares) FillRow(w []float32, id uint64) { w[0], w[1] = float32(id*id), float32(id*id)+0.5 }

// lookups is a model of a table with height 3000, of which a step trains ids 1, 5 and 2500.
func lookups(init optimizer.Initializer) (out, loss *nn.Node) {
	g := nn.NewGraph(1)
	out = nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "e", Height: 3000, Dim: 2, Init: init})
	return out, nn.Mean(nn.SquareError(nn.Linear(out, 1, nn.LinearOptions{}), g.Input("y", 1)))
}

func ofIDs(ids ...int64) map[string]*gorgonia.Dense {
	return map[string]*gorgonia.Dense{"ids": gorgonia.New(gorgonia.WithShape(len(ids), 1), gorgonia.WithBacking(ids)),
		"y": gorgonia.New(gorgonia.WithShape(len(ids), 1), gorgonia.WithBacking(make([]float32, len(ids))))}
}

// TestGivenValuesAreSaved: a table that begins with given values is saved with those rows too that nothing has trained, since no
// graph tells their values: the loaded model says of every id what the job says.
func TestGivenValuesAreSaved(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	var all []int64
	for id := range int64(3000) {
		all = append(all, id)
	}
	values := make([]float32, 2*2000)
	for i := range values {
		values[i] = float32(i) / 7
	}
	for what, init := range map[string]optimizer.Initializer{"the first 2000": optimizer.Assign(values), "a function": squares{}} {
		for name, c := range trial.Sizes() {
			t.Run(what+", "+name, func(t *testing.T) {
				dir, says := t.TempDir(), make([][]float32, c.Workers)
				c.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
					out, loss := lookups(init)
					return trial.PlayGraph(ctx, f, loss, optimizer.SGD{LR: 1e-3}, strategy.Sync(), func(exe *nn.Executor) error {
						_, err := exe.Train(ctx, ofIDs(1, 5, 2500))
						if err != nil {
							return err
						}
						got, err := exe.Eval(ctx, ofIDs(all...), out)
						if err != nil {
							return err
						}
						says[f.WorkerIndex()] = slices.Clone(got[0].Float32s())
						return trial.SaveTogether(ctx, f, dir, nn.Inference(out))
					})
				})
				m, err := serve.Load(dir)
				law.Check(t, err)
				got, err := nn.NewExecutor(m.Graph).Eval(t.Context(), ofIDs(all...), m.Outputs[0])
				if err != nil || !slices.Equal(got[0].Float32s(), says[0]) {
					t.Errorf("the loaded model says otherwise than the job, error %v", err)
				}
			})
		}
	}
}

// TestMinimizeWarnsOfWhatCantBeSaved: training goes on, with a warning before it begins.
func TestMinimizeWarnsOfWhatCantBeSaved(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	f, err := fleet.New(t.Context(), nil, fleet.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	law.Check(t, err)
	g := nn.NewGraph(1)
	loss := nn.Mean(nn.Embedding(g.IDs("ids", 1), nn.EmbeddingOptions{Name: "vast", Height: 1 << 40, Dim: 2, Init: squares{}}))
	law.Check(t, trial.Minimize(f, loss, optimizer.SGD{LR: 0.1}, strategy.Sync()))
	if !strings.Contains(log.String(), "SaveInferenceModel will refuse") || !strings.Contains(log.String(), "vast") || !strings.Contains(log.String(), "squares can't be saved") {
		t.Errorf("the log says %q", log.String())
	}
}
