package dataset_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/local"
)

// TestBadRowsNameTheirLines: training that a value stops says which line of which file it came from, in whatever order rows go by.
//
// Promise: [G9] a value that stops training is reported with its file and line, in any order of rows
// Also: TestRowsKeepTheirLines
func TestBadRowsNameTheirLines(t *testing.T) {
	for name, c := range map[string]struct {
		bad  string // line 40
		mend func(b dataset.Batch) error
		want string
	}{
		"a label": {"7,3,0.5", nil, `nn: feed "label" \(blame_test.go:\d+\), row `},
		"an id":   {"1,9,0.5", nil, `nn: feed "id" \(blame_test.go:\d+\), row `},
		"not a number": {"1,3,77", func(b dataset.Batch) error {
			for i, x := range b["x"].Float32s() {
				if x == 77 {
					b["x"].Float32s()[i] = float32(math.NaN())
				}
			}
			return nil
		}, `nn: feed "x" \(blame_test.go:\d+\), row `},
	} {
		lines := strings.Split(strings.Repeat("1,3,0.5\n0,2,1\n", 50), "\n")
		lines[39] = c.bad
		path := filepath.Join(t.TempDir(), "clicks.csv")
		law.Check(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
		rows, err := dataset.FromFiles(dataset.CSV{Fields: []string{"label", "id", "x"}, Schema: []dataset.CSVColumn{
			{Column: dataset.Floats("label")}, {Column: dataset.Ints("id")}, {Column: dataset.Floats("x")}}}, path).Load(t.Context())
		law.Check(t, err)
		if rows = rows.Shuffle(7); c.mend != nil {
			rows = rows.Map(c.mend)
		}
		g := nn.NewGraph(1)
		emb := nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Height: 5, Dim: 2})
		pred := nn.Linear(nn.Concat(emb, g.Input("x", 1)), 1, nn.LinearOptions{Act: nn.Sigmoid})
		loss := nn.Mean(nn.LogLoss(pred, g.Input("label", 1)))
		if _, err := local.Minimize(loss, optimizer.SGD{LR: 0.1}); err != nil {
			t.Fatal(err)
		}
		_, err = nn.NewExecutor(g).TrainFrom(t.Context(), rows.Prefetch(2).Batches(16), nn.TrainOptions{})
		if want := fmt.Sprintf(" (%s:40)", path); err == nil || !regexp.MustCompile("^"+c.want).MatchString(err.Error()) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s…%s", name, err, c.want, want)
		}
	}
}
