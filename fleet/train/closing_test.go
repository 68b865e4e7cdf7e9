package train_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
)

// TestLastLinesShowARowThatScores: the test row that a job's last lines show is one that its model scores as it should; one that is
// too long is not shown. A model that is the best evaluation's says of which.
func TestLastLinesShowARowThatScores(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`\nask it:   curl -s localhost:8080/score -H 'Content-Type: application/json' -d '(.*)'\n +\(a test row, whose y is 0\)\nsaved `)
	for name, c := range map[string]struct {
		width int
		want  string
	}{"few": {2, ""}, "many": {200, "\nask it:   curl -s localhost:8080/model\nsaved "}} {
		dir := t.TempDir()
		_, said := play(t, 0, 1, func() train.Job {
			g := nn.NewGraph(1)
			slot := nn.EmbeddingPool(g.Slot("words"), nn.PoolSum, nn.EmbeddingOptions{Height: 10, Dim: 2})
			ids := nn.Reshape(nn.Embedding(g.IDs("ids", 3), nn.EmbeddingOptions{Height: 10, Dim: 2}), 6)
			image := nn.Reshape(g.Input("image", c.width, 2), 2*c.width)
			pred := nn.Linear(nn.Concat(slot, ids, image), 1, nn.LinearOptions{Act: nn.Sigmoid})
			rows := dataset.Generate(40, func(i int, r dataset.Row) error {
				r.Floats(0)[0], r.Floats(2)[0] = float32(i%2), float32(i%2)
				r.AppendInt(3, 1)
				return nil
			},
				dataset.Floats("image", c.width, 2), dataset.Ints("ids", 3), dataset.Floats("y"), dataset.Varying(dataset.Ints("words")))
			j := job(train.Options{Out: dir, Patience: 5, Epochs: 3})
			j.Rule, j.Loss, j.Metrics, j.Outputs = optimizer.SGD{LR: 1}, nn.Mean(nn.LogLoss(pred, g.Input("y", 1))), nil, []*nn.Node{pred}
			j.Data = func(context.Context) (_, _ *dataset.Dataset, err error) { return rows, rows, nil }
			return j
		})
		if !strings.Contains(said, "\nthe best evaluation was in epoch 3: train loss ") || !strings.Contains(said, "; its model is "+filepath.Join(dir, "model")+"\nserve it: ") {
			t.Errorf("%s: the job said\n%s", name, said)
		}
		if c.want != "" {
			if !strings.Contains(said, c.want) {
				t.Errorf("%s: the job said\n%s", name, said)
			}
			continue
		}
		told := row.FindStringSubmatch(said)
		if told == nil {
			t.Fatalf("%s: the job said\n%s", name, said)
		}
		s, err := serve.OpenScorer(filepath.Join(dir, "model"), serve.ScorerOptions{})
		law.Check(t, err)
		if scores, err := s.ScoreJSON(t.Context(), []byte(told[1])); err != nil || len(scores.Values[0]) != 1 {
			t.Errorf("%s: of %s scores are %v, %v", name, told[1], scores, err)
		}
	}
}

// doubled is an operation of a program's own.
type doubled struct{}

func (doubled) Shape(in [][]int) ([]int, error) { return in[0], nil }

func (doubled) Forward(c *nn.OpCall) {
	for i, x := range c.In[0].Value {
		c.Out.Value[i] = 2 * x
	}
}

func (doubled) Backward(c *nn.OpCall) {
	for i, g := range c.Out.Grad {
		if c.In[0].Grad != nil {
			c.In[0].Grad[i] += 2 * g
		}
	}
}

// ownLines is a format of a program's own.
type ownLines struct{ dataset.CSV }

// TestServeHintForCustomModels: a model with operations of the program's own is not said to be one for examples/serve, which can't load
// it; of one whose lines only the program reads, rows are asked for as JSON.
func TestServeHintForCustomModels(t *testing.T) {
	t.Parallel()
	law.Check(t, errors.Join(nn.RegisterOp[doubled]("closing doubled"), dataset.RegisterFormat[ownLines]("closing lines")))
	for _, c := range []struct{ op, format bool }{{false, false}, {true, false}, {false, true}} {
		dir := t.TempDir()
		rows := filepath.Join(dir, "rows.csv")
		law.Check(t, os.WriteFile(rows, []byte("x,y\n"+strings.Repeat("1,1\n-1,0\n", 40)), 0o600))
		_, said := play(t, 0, 1, func() train.Job {
			g := nn.NewGraph(1)
			x := g.Input("x", 1)
			if c.op {
				x = nn.Custom(doubled{}, x)
			}
			pred := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid})
			j := job(train.Options{Out: filepath.Join(dir, "out"), Epochs: 1})
			format := dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}}}
			j.Loss, j.Metrics, j.Outputs, j.Data = nn.Mean(nn.LogLoss(pred, g.Input("y", 1))), nil, []*nn.Node{pred}, nil
			if j.Files = (train.Files{Format: format, Paths: []string{rows}}); c.format {
				j.Files.Format = ownLines{format}
			}
			return j
		})
		command := "\nserve it: go run github.com/gofleet/gofleet/examples/serve -model=" + filepath.Join(dir, "out", "model") + "\nask it:   "
		if own := strings.Contains(said, "serve it: in a program that calls nn.RegisterOp as this one does"); own != c.op || own == strings.Contains(said, command) {
			t.Errorf("%+v: the job said\n%s", c, said)
		}
		if lines := strings.Contains(said, command+"head -n 2 "+rows); lines != (!c.op && !c.format) {
			t.Errorf("%+v: the job said\n%s", c, said)
		}
		if json := strings.Contains(said, command+"curl -s localhost:8080/score -H 'Content-Type: application/json' -d '[{\"x\":[1]}]'\n          (a test row, whose y is 1)\n"); json != c.format {
			t.Errorf("%+v: the job said\n%s", c, said)
		}
	}
}
