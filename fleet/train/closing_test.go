package train_test

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestAskedAsTold: the row of zeros that a job's last lines show is one that its model scores, whatever it is fed; one that is too long is
// not shown. A model that is the best evaluation's says of which.
func TestAskedAsTold(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`\nask it:   curl -s localhost:8080/score -H 'Content-Type: application/json' -d '(.*)'\nsaved `)
	for name, c := range map[string]struct {
		width int
		want  string
	}{"few": {2, ""}, "many": {41, "\nask it:   curl -s localhost:8080/model\nsaved "}} {
		dir := t.TempDir()
		_, said := play(t, 0, 1, func() train.Job {
			g := nn.NewGraph(1)
			slot := nn.EmbeddingPool(g.Slot("words"), nn.PoolSum, nn.EmbeddingOptions{Height: 10, Dim: 2})
			ids := nn.Reshape(nn.Embedding(g.IDs("ids", 3), nn.EmbeddingOptions{Height: 10, Dim: 2}), 6)
			image := nn.Reshape(g.Input("image", c.width, 2), 2*c.width)
			pred := nn.Linear(nn.Concat(slot, ids, image), 1, nn.LinearOptions{Act: nn.Sigmoid})
			rows := dataset.Generate(40, func(i int, r dataset.Row) error { r.AppendInt(3, 1); return nil },
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
		s, err := nn.OpenScorer(filepath.Join(dir, "model"), nn.ScorerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if scores, err := s.ScoreJSON(t.Context(), []byte(told[1])); err != nil || len(scores.Values[0]) != 1 {
			t.Errorf("%s: of %s scores are %v, %v", name, told[1], scores, err)
		}
	}
}
