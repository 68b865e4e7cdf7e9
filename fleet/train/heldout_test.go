package train_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// coins writes n rows whose labels are coin flips, each with an id of its own.
func coins(t *testing.T, n int) (file string, format dataset.CSV) {
	t.Helper()
	text := strings.Builder{}
	text.WriteString("id,y\n")
	for i := range n {
		x := uint64(i+1) * 0x9e3779b97f4a7c15
		fmt.Fprintf(&text, "%d,%d\n", i, (x^x>>31)>>40&1)
	}
	file = filepath.Join(t.TempDir(), "coins.csv")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Ints("id")}, {Column: dataset.Floats("y")}}}
}

// TestTestRowsAreNotTrainedOn: a model that knows every row which it was trained on tells nothing about the test rows, in any epoch, however
// many rows were taken and whichever are held out.
func TestTestRowsAreNotTrainedOn(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	const rows = 2000
	file, format := coins(t, rows)
	for _, c := range []struct {
		servers, workers int
		files            train.Files
	}{
		{0, 1, train.Files{}}, {1, 2, train.Files{}}, {0, 1, train.Files{Take: 1500}}, {1, 2, train.Files{Take: 1500}},
		{1, 2, train.Files{Take: 1500, Last: true}}, {1, 2, train.Files{LastBy: "id"}}, {1, 2, train.Files{Take: 1500, GroupBy: "id"}},
	} {
		c.files.Format, c.files.Paths = format, []string{file}
		results, _ := play(t, c.servers, c.workers, func() train.Job {
			g := nn.NewGraph(1)
			pred := nn.Sigmoid(nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Dim: 1}))
			label := g.Input("y", 1)
			return train.Job{Options: train.Options{Mode: "sync", Batch: 20, Epochs: 4}, Rule: optimizer.Adam{LR: 0.3},
				Loss: nn.Mean(nn.LogLoss(pred, label)), Metrics: []*nn.Node{nn.AUC(pred, label).Named("AUC")},
				Files: c.files}
		})
		for _, e := range results[0].History {
			if auc := e.Values["test AUC"]; auc < 0.4 || auc > 0.6 {
				t.Errorf("%+v: a test AUC of %.3f after epoch %d", c, auc, e.Epoch)
			}
		}
		if loss := results[0].Last.Values[train.TrainLoss]; loss > 0.4 {
			t.Errorf("the train loss is %.3f: the model does not know its rows", loss)
		}
	}
}
