package train_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet"
	"github.com/gofleet/gofleet/fleet/fleettest"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
)

// lookedAt is a job with moving averages, dropout and a table, whose rows have codes for missing numbers.
func lookedAt(o train.Options) train.Job {
	g := nn.NewGraph(1)
	x, y := g.Input("x", 1), g.Input("y", 1)
	in := nn.Concat(nn.BatchNorm(x, nn.NormOptions{}), nn.Embedding(g.IDs("id", 1), nn.EmbeddingOptions{Dim: 3}))
	pred := nn.Linear(nn.Dropout(nn.Linear(in, 4, nn.LinearOptions{Act: nn.ReLU}), 0.3), 1, nn.LinearOptions{Act: nn.Sigmoid})
	rows := dataset.Generate(300, func(i int, row dataset.Row) error {
		row.Floats(0)[0], row.Ints(1)[0], row.Floats(2)[0] = float32(math.Sin(float64(i))), int64(i%7), float32(i%3%2)
		if i%10 == 0 {
			row.Floats(0)[0] = -999
		}
		return nil
	}, dataset.Floats("x"), dataset.Ints("id"), dataset.Floats("y"))
	return train.Job{Options: o, Loss: nn.Mean(nn.BinaryCrossEntropy(pred, y)), Rule: o.AdamOrSGD(0.01, 0.01), Outputs: []*nn.Node{pred}, Stdout: io.Discard,
		Data: func(ctx context.Context) (*dataset.Dataset, *dataset.Dataset, error) {
			rows, err := rows.Load(ctx)
			return rows.Take(240), rows.Skip(240), err
		}}
}

// TestLookChangesNothing: in each mode a job that looks at its rows first leaves the same model and history, bit for bit, as one that does not.
func TestLookChangesNothing(t *testing.T) {
	// Serial: it reads the log.
	for _, c := range []struct {
		mode             string
		servers, workers int
	}{{"sync", 2, 2}, {"async", 1, 1}, {"half_async", 1, 1}, {"ssp", 1, 1}, {"geo", 1, 1}, {"sync", 0, 2}, {"", 0, 1}} {
		var left [2][]byte
		for i, looks := range []bool{true, false} {
			dir := t.TempDir()
			said := logged(t, func() {
				fleettest.Run(t, c.servers, c.workers, func(ctx context.Context, f *fleet.Fleet) error {
					j := lookedAt(train.Options{Mode: c.mode, Batch: 16, Epochs: 2, Seed: 3, Out: dir})
					j.Looks(looks)
					res, err := j.Run(ctx, f)
					if f.IsFirstWorker() {
						left[i] = fmt.Appendf(nil, "%v", res.Last.Values)
					}
					return err
				})
			})
			for _, name := range []string{"graph.json", "weights.safetensors"} {
				text, err := os.ReadFile(filepath.Join(dir, "model", name))
				if err != nil {
					t.Fatal(err)
				}
				left[i] = append(left[i], text...)
			}
			if n := strings.Count(said, "the code of a missing one in value 1 of feed"); n != map[bool]int{true: 1}[looks] {
				t.Errorf("%v: %d findings in\n%s", c, n, said)
			}
		}
		if !bytes.Equal(left[0], left[1]) {
			t.Errorf("%v: a job that was looked at leaves other weights or another history", c)
		}
	}
}

// TestLookIsOfAFirstLife: a job that goes on from a checkpoint does not look again, at whatever epoch it does, nor do jobs that are to
// look at nothing or whose rows are too many or stream by.
func TestLookIsOfAFirstLife(t *testing.T) {
	// Serial: it reads the log.
	dir := t.TempDir()
	run := func(epochs int, spoil func(*train.Job)) {
		t.Helper()
		fleettest.Run(t, 1, 1, func(ctx context.Context, f *fleet.Fleet) error {
			j := lookedAt(train.Options{Mode: "sync", Batch: 16, Epochs: epochs, Checkpoint: filepath.Join(dir, "checkpoints")})
			j.Looks(true)
			spoil(&j)
			_, err := j.Run(ctx, f)
			return err
		})
	}
	const finding = "the code of a missing one"
	if said := logged(t, func() { run(1, func(*train.Job) {}) }); strings.Count(said, finding) != 1 {
		t.Errorf("the first run's findings:\n%s", said)
	}
	for epochs := range 4 {
		if said := logged(t, func() { run(1+epochs, func(*train.Job) {}) }); strings.Contains(said, finding) {
			t.Errorf("a resumed run's findings:\n%s", said)
		}
	}
	for _, spoil := range []func(*train.Job){
		func(j *train.Job) { j.Looks(false) },
		func(j *train.Job) {
			load := j.Data
			j.Rows = func(_ int, rows *dataset.Dataset) *dataset.Dataset { return rows }
			j.Data = func(ctx context.Context) (*dataset.Dataset, *dataset.Dataset, error) {
				rows, tests, err := load(ctx)
				return rows.Filter(func(dataset.Row) bool { return true }), tests, err
			}
		},
	} {
		dir = t.TempDir()
		if said := logged(t, func() { run(1, spoil) }); strings.Contains(said, finding) {
			t.Errorf("it looks:\n%s", said)
		}
	}
}

// TestTooGood: an AUC of exactly 1 on many test rows is named, of few it is not.
func TestTooGood(t *testing.T) {
	// Serial: it reads the log.
	for _, tests := range []int{50, 200} {
		said := logged(t, func() {
			fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				y := g.Input("y", 1)
				pred := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{Act: nn.Sigmoid})
				rows := dataset.Generate(400, func(i int, row dataset.Row) error {
					row.Floats(0)[0], row.Floats(1)[0] = float32(i%2), float32(i%2)
					return nil
				}, dataset.Floats("x"), dataset.Floats("y"))
				_, err := train.Job{Options: train.Options{Batch: 16, Epochs: 1}, Loss: nn.Mean(nn.BinaryCrossEntropy(pred, y)), Rule: optimizer.SGD{LR: 1},
					Metrics: []*nn.Node{nn.AUC(pred, y)}, Stdout: io.Discard, Data: func(context.Context) (*dataset.Dataset, *dataset.Dataset, error) {
						return rows, rows.Take(tests), nil
					}}.Run(ctx, f)
				return err
			})
		})
		if strings.Contains(said, "no test row is predicted wrong") != (tests == 200) {
			t.Errorf("of %d test rows:\n%s", tests, said)
		}
	}
}

// TestLookAtWhatStepsRefuse: rows that no step takes are the step's error, not the look's.
func TestLookAtWhatStepsRefuse(t *testing.T) {
	t.Parallel()
	errs := fleettest.Cluster{Servers: 1, Workers: 1}.Errors(t, func(ctx context.Context, f *fleet.Fleet) error {
		j := lookedAt(train.Options{Mode: "sync", Batch: 16, Epochs: 1})
		j.Looks(true)
		load := j.Data
		j.Data = func(ctx context.Context) (*dataset.Dataset, *dataset.Dataset, error) {
			rows, tests, err := load(ctx)
			return rows.Map(func(b dataset.Batch) error {
				b["y"] = tensor.New(tensor.WithShape(b["y"].Shape()...), tensor.WithBacking(make([]bool, b["y"].Shape()[0])))
				return nil
			}), tests, err
		}
		_, err := j.Run(ctx, f)
		return err
	})
	if said := fmt.Sprint(errs); !strings.Contains(said, `feed "y" holds bool`) {
		t.Error(said)
	}
}

// TestLookReadsSmallFiles: a job of small files says what -check would of their texts, and one of large files does not read them again.
func TestLookReadsSmallFiles(t *testing.T) {
	// Serial: it reads the log.
	for _, more := range []int{0, 5 << 20} {
		var text strings.Builder
		text.WriteString("city,y,note\n")
		for i := range 400 {
			fmt.Fprintf(&text, "%s,%d,%s\n", []string{"Ulm", "ULM", "Bonn", "Kiel", "Jena"}[i%5], i%2, strings.Repeat("x", more/400))
		}
		path := filepath.Join(t.TempDir(), "rows.csv")
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		said := logged(t, func() {
			fleettest.Run(t, 0, 1, func(ctx context.Context, f *fleet.Fleet) error {
				g := nn.NewGraph(1)
				pred := nn.Linear(nn.Embedding(g.IDs("city", 1), nn.EmbeddingOptions{Height: 8, Dim: 3}), 1, nn.LinearOptions{Act: nn.Sigmoid})
				j := train.Job{Options: train.Options{Batch: 16, Epochs: 1}, Loss: nn.Mean(nn.BinaryCrossEntropy(pred, g.Input("y", 1))),
					Rule: optimizer.SGD{LR: 0.1}, Stdout: io.Discard, Files: train.Files{Paths: []string{path}, Format: dataset.CSV{Schema: []dataset.CSVColumn{
						{Column: dataset.Ints("city", 1), Hash: 8}, {Column: dataset.Floats("y")}}}}}
				j.Looks(true)
				_, err := j.Run(ctx, f)
				return err
			})
		})
		if n := strings.Count(said, `are other ids in field \"city\"`); n != map[int]int{0: 1}[more] {
			t.Errorf("with %d bytes more, %d findings in\n%s", more, n, said)
		}
	}
}
