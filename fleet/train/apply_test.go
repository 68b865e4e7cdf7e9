package train

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// TestSavedModelOnFiles: -eval says of the rows that training tested on what training said, and -predict writes a line for each row in its order.
func TestSavedModelOnFiles(t *testing.T) {
	t.Parallel()
	law.Slow(t)
	dir := t.TempDir()
	rows := func(name, more string, n int) string {
		text := "x,y," + more + "\n"
		for i := range n {
			text += fmt.Sprintf("%d,%d,%d\n", i%7, i%7/4, i)
		}
		path := filepath.Join(dir, name)
		law.Check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	train, test, dayless := rows("train.csv", "day", 200), rows("test.csv", "day", 70), rows("dayless.csv", "unused", 70)
	run := func(args ...string) string {
		t.Helper()
		var said bytes.Buffer
		o, err := parsed(append(args, "-out="+filepath.Join(dir, "out"), "-epochs=2")...)
		law.Check(t, err)
		o.predictions = &said
		if err := start(&o, nil, func() (Job, error) {
			g := nn.NewGraph(1)
			y := g.Input("y", 1)
			pred := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{Act: nn.Sigmoid})
			return Job{Options: o, Stdout: &said, Rule: optimizer.Adam{LR: 0.1}, Loss: nn.Mean(nn.BinaryCrossEntropy(pred, y)),
				Metrics: []*nn.Node{nn.AUC(pred, y)}, Outputs: []*nn.Node{pred.Named("chance")},
				Files: Files{Paths: []string{train}, Test: []string{test},
					Format: dataset.CSV{Schema: []dataset.CSVColumn{{Column: dataset.Floats("x")}, {Column: dataset.Floats("y")}, {Column: dataset.Ints("day")}}}}}, nil
		}); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return said.String()
	}
	trained := run()
	_, last, _ := strings.Cut(trained[strings.LastIndex(trained, "epoch 2/2: "):], "test loss ")
	last, _, _ = strings.Cut(last, "\n")
	said := run("-eval=" + test)
	first, _, _ := strings.Cut(said, "\n")
	if _, numbers, _ := strings.Cut(first, ": 70 rows, loss "); strings.ReplaceAll(last, "test ", "") != strings.TrimSpace(numbers) {
		t.Errorf("training ends with %q, and -eval says %q", last, said)
	}
	if other := run("-eval=" + dayless); other != said {
		t.Errorf("of rows without a column that no node takes -eval says %q, and of others %q", other, said)
	}
	if by := run("-eval="+test, "-load="+filepath.Join(dir, "out/checkpoint")); !strings.HasSuffix(by, said[strings.Index(said, ": 70 rows"):]) {
		t.Errorf("of the checkpoint -eval says %q, of the model %q", by, said)
	}
	lines := strings.Split(strings.TrimSpace(run("-predict="+filepath.Join(dir, "t*t.csv"))), "\n")
	if len(lines) != 71 || lines[0] != "chance" || lines[1] != lines[8] || lines[1] >= lines[6] {
		t.Errorf("predictions are %q", lines)
	}
}
