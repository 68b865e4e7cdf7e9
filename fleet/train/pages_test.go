package train_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// page is a job that makes the calls which SERVING.md shows, in their order.
type page struct {
	dir    string
	format dataset.CSV
	scores []float32 // of tomorrow's rows
}

const (
	pageRows     = "name,number,late\nAA,2475,1\nUA,300,0\nAA,900,1\nUA,NA,0\n"
	pageTomorrow = "name,number\nAA,2475\nUA,NA\nAA,14\n"
)

// TestServingsProgram runs the calls of SERVING.md in every kind of job: each worker makes all of them.
func TestServingsProgram(t *testing.T) {
	t.Parallel()
	for name, job := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			p := page{dir: t.TempDir()}
			for file, text := range map[string]string{"train.csv": pageRows, "tomorrow.csv": pageTomorrow} {
				if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			job.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error {
				p := p // each worker is a process
				loss, pred := pageNet()
				return trial.PlayGraph(ctx, f, loss, optimizer.SGD{LR: 0.1}, job.Strategy, func(exe *nn.Executor) error {
					if err := p.train(ctx, exe); err != nil {
						return err
					}
					return errors.Join(f.BarrierWorker(ctx), p.serve(ctx, t, f, pred))
				})
			})
			job.Cluster.Run(t, func(ctx context.Context, f *fleet.Fleet) error { // a job that begins from it
				loss, pred := pageNet()
				err := trial.Minimize(f, loss, optimizer.SGD{LR: 0.1}, job.Strategy)
				if err := errors.Join(err, f.Restore(ctx, p.path("other"), fleet.RestoreOptions{})); err != nil {
					return err
				}
				return trial.Begin(ctx, f, "", func() error { return p.begun(ctx, t, pred) })
			})
		})
	}
}

// pageNet is the model.
func pageNet() (loss, pred *nn.Node) {
	g := nn.NewGraph(1)
	emb := nn.Embedding(g.IDs("name", 1), nn.EmbeddingOptions{Name: "emb", Height: 1000, Dim: 4})
	pred = nn.Linear(nn.Concat(emb, g.Input("number", 1)), 1, nn.LinearOptions{Act: nn.Sigmoid})
	return nn.Mean(nn.LogLoss(pred, g.Input("late", 1))), pred
}

// begun compares what a job begins with and what was published.
func (p *page) begun(ctx context.Context, t *testing.T, pred *nn.Node) error {
	m, err := serve.Load(p.path("other"))
	if err != nil {
		return err
	}
	rows, err := m.Rows(p.path("tomorrow.csv"))
	if err != nil {
		return err
	}
	exe, published := nn.NewExecutor(pred.Graph()), nn.NewExecutor(m.Graph)
	for batch, err := range rows.Batches(3) {
		if err != nil {
			return err
		}
		want, err := published.Eval(ctx, batch, m.Outputs...)
		if err != nil {
			return err
		}
		got, err := exe.Eval(ctx, batch, pred)
		if err != nil {
			return err
		}
		if !slices.Equal(got[0].Float32s(), want[0].Float32s()) {
			t.Errorf("it begins with a model that says %v, the published one says %v", got[0], want[0])
		}
	}
	return exe.Close(ctx)
}

func (p *page) path(name string) string { return filepath.Join(p.dir, name) }

// columns are those of the rows, with a scale for the numbers.
func columns(numbers dataset.CSVColumn) dataset.CSV {
	return dataset.CSV{NA: "NA", Schema: []dataset.CSVColumn{{Column: dataset.Ints("name"), Hash: 1000}, numbers, {Column: dataset.Floats("late")}}}
}

func (p *page) train(ctx context.Context, exe *nn.Executor) error {
	numbers := dataset.CSVColumn{Column: dataset.Floats("number"), Missing: "0"}
	moments, err := dataset.FromFiles(columns(numbers), p.path("train.csv")).Moments(ctx, "number")
	if err == nil {
		numbers, err = numbers.Standardize(moments)
	}
	if err != nil {
		return err
	}
	p.format = columns(numbers)
	_, err = exe.TrainFrom(ctx, dataset.FromFiles(p.format, p.path("train.csv")).Batches(4), nn.TrainOptions{})
	return err
}

// serve publishes the model, reads it back, and predicts with it.
func (p *page) serve(ctx context.Context, t *testing.T, f *fleet.Fleet, pred *nn.Node) error {
	own := func(name string) string { return p.path(name) + string(rune('0'+f.WorkerIndex())) }
	if err := f.SaveInferenceModel(ctx, own("model"), nn.Inference(pred).WithFormat(p.format)); err != nil {
		return err
	}
	if err := f.BarrierWorker(ctx); err != nil {
		return err
	}
	s, err := serve.OpenScorer(p.path("model0"), serve.ScorerOptions{})
	if err != nil {
		return err
	}
	scores, err := s.ScoreLines(ctx, []byte(pageTomorrow))
	if err != nil {
		return err
	}
	if changed, err := s.Reload(); err != nil || changed {
		t.Errorf("the model that is there already is taken up: %t, %v", changed, err)
	}
	m, err := serve.Load(p.path("model0"))
	if err != nil {
		return err
	}
	rows, err := m.Rows(p.path("tomorrow.csv"))
	if err != nil {
		return err
	}
	var said bytes.Buffer
	n, err := train.Predict(ctx, f, rows, &said, m.Outputs...)
	if err != nil {
		return err
	}
	p.scores = scores.Values[0]
	if want := fmt.Sprintln("sigmoid_0", p.scores); n != 3 || f.IsFirstWorker() && fmt.Sprintln("sigmoid_0", strings.Fields(said.String())[1:]) != want {
		t.Errorf("%d rows predicted, %q; the scorer says %s", n, said.String(), want)
	}
	var text strings.Builder
	if err := (weights.Word2Vec{}).Write(&text, f.Rows(ctx, "emb")); err != nil {
		return err
	}
	if !f.IsFirstWorker() {
		return nil
	}
	saved, err := weights.Open(ctx, p.path("model0"))
	if err == nil {
		defer saved.Close()
		err = weights.SaveModel(ctx, p.path("other"), nn.Inference(pred).WithFormat(p.format), weights.Source{File: saved})
	}
	if err == nil {
		s, err = serve.OpenScorer(p.path("other"), serve.ScorerOptions{})
	}
	if err != nil {
		return err
	}
	again, err := s.ScoreLines(ctx, []byte(pageTomorrow))
	if err == nil && math.Abs(float64(again.Values[0][0]-scores.Values[0][0])) > 1e-6 {
		t.Errorf("a model with the weights of another says %v, that one %v; vectors %q", again.Values, scores.Values, text.String())
	}
	return err
}
