package train_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
	"github.com/gofleet/gofleet/optimizer"
)

// TestBatchesWithoutIDs: rows whose slot has no id, or whose numbers beside the ids are none, train and are evaluated as rows with an id of
// padding, in every kind of job, also where they are a whole batch; what is saved scores a row of them alone.
func TestBatchesWithoutIDs(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, kind := range trial.SomeOf(t, trial.Jobs(t)) {
		t.Run(name, func(t *testing.T) {
			history := func(none string) []train.Evaluation {
				dir := t.TempDir()
				results, _ := play(t, kind.Cluster.Servers, kind.Cluster.Workers, func() train.Job {
					s := kind.Strategy
					return withoutIDs(train.Options{Batch: 4, Epochs: 2, Out: dir}, none, func(j *train.Job) {
						j.Strategy, j.Rule = &s, optimizer.SGD{LR: 0.1}
					})
				})
				if none == "" {
					scoresWithoutIDs(t, dir+"/model")
				}
				return results[0].History
			}
			none, padded := history(""), history("99")
			if len(none) != len(padded) || len(none) != 2 {
				t.Fatalf("%d evaluations and %d", len(none), len(padded))
			}
			if kind.Cluster.Servers > 0 && kind.Strategy.Mode != "sync" {
				return // what comes first is left to chance
			}
			for i := range none {
				if a, b := none[i].Values, padded[i].Values; fmt.Sprint(a) != fmt.Sprint(b) {
					t.Errorf("without ids %v, with padding %v", a, b)
				}
			}
		})
	}
}

// withoutIDs is a job whose last half of the rows has no ids but what stands for none.
func withoutIDs(o train.Options, none string, change func(*train.Job)) train.Job {
	g := nn.NewGraph(1)
	tags, label := g.Slot("tags"), g.Input("y", 1)
	table := nn.EmbeddingOptions{Name: "emb", Dim: 3, PaddingIdx: new(int64(99))}
	seq := nn.EmbeddingSequence(tags, 2, table)
	pred := nn.Linear(nn.Concat(nn.EmbeddingPool(tags, nn.PoolSum, table), nn.SequencePool(seq.Rows, seq.Mask, nn.PoolSum)), 1,
		nn.LinearOptions{Act: nn.Sigmoid})
	var text strings.Builder
	for i := range 64 {
		ids := none
		if i < 32 {
			ids = fmt.Sprintf("%d|%d", i%3, i%5)
		}
		fmt.Fprintf(&text, "%s,%d\n", ids, i%2)
	}
	format := dataset.CSV{Fields: []string{"tags", "y"}, Schema: []dataset.CSVColumn{
		{Column: dataset.Varying(dataset.Ints("tags")), Separator: "|"}, {Column: dataset.Floats("y")}}}
	j := train.Job{Options: o, Loss: nn.Mean(nn.BinaryCrossEntropy(pred, label)), Outputs: []*nn.Node{pred},
		Metrics: []*nn.Node{nn.AUC(pred, label)},
		Files:   train.Files{Format: format},
		Data: func(ctx context.Context) (rows, tests *dataset.Dataset, err error) {
			rows, err = dataset.FromReader(strings.NewReader(text.String()), "text", format).Load(ctx)
			return rows, rows, err
		},
		Rows: func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows }}
	change(&j)
	return j
}

// scoresWithoutIDs asks a model of rows without ids, alone and beside another, from lines and from JSON.
func scoresWithoutIDs(t *testing.T, model string) {
	t.Helper()
	s, err := serve.OpenScorer(model, serve.ScorerOptions{})
	law.Check(t, err)
	beside, err := s.ScoreLines(t.Context(), []byte("1|2,0\n,0\n"))
	law.Check(t, err)
	alone, err := s.ScoreLines(t.Context(), []byte(",0\n"))
	if err != nil || !slices.Equal(alone.Values[0], beside.Values[0][1:]) {
		t.Errorf("alone %v, beside another %v, %v", alone.Values, beside.Values, err)
	}
	rows, err := s.ScoreJSON(t.Context(), []byte(`[{"tags": []}, {"tags": []}]`))
	if err != nil || len(rows.Values) != 1 || rows.Values[0][0] != alone.Values[0][0] {
		t.Errorf("of JSON %v, %v", rows.Values, err)
	}
}
