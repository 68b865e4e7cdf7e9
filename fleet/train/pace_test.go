package train_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/internal/trial"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/optimizer/lr"
)

// table is a file of CSV, its numbers by column; what is empty is NaN.
func table(t *testing.T, file string) (header string, columns map[string][]float64) {
	t.Helper()
	text, err := os.ReadFile(file)
	law.Check(t, err)
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	law.Check(t, err)
	columns = map[string][]float64{}
	for _, row := range rows[1:] {
		for i, field := range row {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil && field != "" {
				t.Fatalf("%q: %v", row, err)
			}
			if field == "" {
				v = math.NaN()
			}
			columns[rows[0][i]] = append(columns[rows[0][i]], v)
		}
	}
	return strings.Join(rows[0], ","), columns
}

// TestPaceInHistory: in every way of training the history has the seconds that the job trained, which go on in a job that is started again,
// the rate of all workers, the learning rate and the gradients' norm, and so do its lines of JSON.
func TestPaceInHistory(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for name, c := range map[string]struct {
		size    [2]int
		options train.Options
		rule    optimizer.Rule
		rate    []float64 // nil where it is not known
	}{
		"alone":      {[2]int{0, 1}, train.Options{}, optimizer.SGD{LR: 0.5}, []float64{0.5, 0.5, 0.5}},
		"threads":    {[2]int{0, 1}, train.Options{Threads: 2}, optimizer.SGD{Schedule: lr.StepDecay{LR: 0.5, Size: 8}}, nil},
		"sync":       {[2]int{1, 2}, train.Options{Mode: "sync"}, optimizer.SGD{Schedule: lr.StepDecay{LR: 0.5, Size: 4, Gamma: 0.5}}, []float64{0.5, 0.25, 0.125}},
		"collective": {[2]int{0, 2}, train.Options{}, optimizer.SGD{Schedule: lr.StepDecay{LR: 0.5, Size: 4, Gamma: 0.5}}, []float64{0.5, 0.25, 0.125}},
		"async":      {[2]int{1, 2}, train.Options{Mode: "async"}, optimizer.SGD{Schedule: lr.StepDecay{LR: 0.5, Size: 8}}, nil},
		"ssp":        {[2]int{1, 2}, train.Options{Mode: "ssp"}, optimizer.SGD{LR: 0.5}, []float64{0.5, 0.5, 0.5}},
		"geo":        {[2]int{1, 2}, train.Options{Mode: "geo"}, optimizer.SGD{LR: 0.25}, []float64{0.25, 0.25, 0.25}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := c.options
			o.Batch, o.Out, o.Checkpoint, o.LogJSON = 50, filepath.Join(dir, "out"), filepath.Join(dir, "checkpoints"), filepath.Join(dir, "h.jsonl")
			whole := func(epochs int) (string, map[string][]float64) {
				_, said := play(t, c.size[0], c.size[1], func() train.Job {
					j := job(o)
					j.Epochs, j.Rule, j.Data = epochs, c.rule, data(400, 100)
					j.Hooks = []train.Hooks{{Evaluated: func(_ context.Context, r *train.Run, e train.Evaluation) error {
						if p := r.Pace(e); p.Seconds <= 0 || p.Rate <= 0 || p.GradientNorm <= 0 {
							t.Errorf("worker %d is told %+v", r.Fleet.WorkerIndex(), p)
						}
						return nil
					}}}
					return j
				})
				if several := c.size[1] > 1; strings.Contains(said, " examples/s of 2 workers\n") != several || !strings.Contains(said, ", test AUC 1.0000\n") {
					t.Errorf("it said\n%s", said)
				}
				return table(t, filepath.Join(o.Out, "history.csv"))
			}
			_, first := whole(2)
			header, all := whole(3)
			if header != "epoch,examples,train loss,test loss,test AUC,constant test loss,constant test AUC,constant standard error,train AUC,seconds,examples/s,learning rate,gradient norm" {
				t.Errorf("the columns are %s", header)
			}
			for name, column := range all {
				if strings.HasPrefix(name, "seconds") && (column[0] != first[name][0] || column[1] != first[name][1] || !(column[2] > column[1] && column[1] > column[0])) {
					t.Errorf("%s: %v, and %v before the job was started again", name, column, first[name])
				}
			}
			for i, seconds := range all["seconds"] {
				if i > 0 {
					seconds -= all["seconds"][i-1]
				}
				if rate := all["examples/s"][i]; math.Abs(rate*seconds-400) > 4 {
					t.Errorf("epoch %d: %v examples/s in %v seconds are not 400", i+1, rate, seconds)
				}
				if lr := all["learning rate"][i]; c.rate == nil && !math.IsNaN(lr) || c.rate != nil && lr != c.rate[i] {
					t.Errorf("epoch %d: the learning rate is %v, want %v", i+1, lr, c.rate)
				}
			}
			text, err := os.ReadFile(o.LogJSON)
			law.Check(t, err)
			for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
				var got map[string]float64
				law.Check(t, json.Unmarshal([]byte(line), &got))
				for key, column := range map[string]string{"epoch": "epoch", "examples": "examples", "train_loss": "train loss", "test_AUC": "test AUC",
					"seconds": "seconds", "examples_per_second": "examples/s", "gradient_norm": "gradient norm"} {
					if v, there := got[key]; !there || v != all[column][i] {
						t.Errorf("line %d of JSON: %s is %v, and %v in the history\n%s", i+1, key, v, all[column][i], line)
					}
				}
			}
		})
	}
}

// TestGradientNorm: the norm is that of the gradient of all params in a step, which takes a pencil where weights are 0: of (wx + b − y)² it
// is 2y·(x, 1).
func TestGradientNorm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	play(t, 0, 1, func() train.Job {
		g := nn.NewGraph(1)
		y := nn.Linear(g.Input("x", 1), 1, nn.LinearOptions{Init: optimizer.Constant{}})
		return train.Job{Options: train.Options{Out: dir, Batch: 4, Epochs: 1}, Loss: nn.Mean(nn.SquareError(y, g.Input("y", 1))), Rule: optimizer.SGD{LR: 1e-9},
			Data: func(context.Context) (_, _ *dataset.Dataset, err error) {
				return dataset.FromColumns(dataset.FloatValues("x", []float32{2, 2, 2, 2}, 1), dataset.FloatValues("y", []float32{3, 3, 3, 3}, 1)), nil, nil
			}}
	})
	_, all := table(t, filepath.Join(dir, "history.csv"))
	if norms := all["gradient norm"]; len(norms) != 1 || math.Abs(norms[0]-6*math.Sqrt(5)) > 0.01 {
		t.Errorf("norms %v, want %v", norms, 6*math.Sqrt(5))
	}
}

// TestHistoryWithoutPaces: a job goes on with a history whose file has no paces: their columns are empty there, and
// so they stay where the file is gone.
func TestHistoryWithoutPaces(t *testing.T) {
	t.Parallel()
	trial.Slow(t)
	for _, gone := range []bool{false, true} {
		dir := t.TempDir()
		file := filepath.Join(dir, "out", "history.csv")
		run := func(epochs int) map[string][]float64 {
			play(t, 0, 1, func() train.Job {
				return job(train.Options{Epochs: epochs, Out: filepath.Join(dir, "out"), Checkpoint: filepath.Join(dir, "checkpoints")})
			})
			_, all := table(t, file)
			return all
		}
		first := run(2)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, pace.ReplaceAll(text, nil), 0o600)
		}
		if err == nil && gone {
			err = os.Remove(file)
		}
		law.Check(t, err)
		all := run(3)
		for _, column := range []string{"seconds", "examples/s", "learning rate", "gradient norm"} {
			if v := all[column]; len(v) != 3 || !math.IsNaN(v[0]) || !math.IsNaN(v[1]) || !(v[2] > 0) {
				t.Errorf("gone %t: %s is %v", gone, column, v)
			}
		}
		if all["test loss"][1] != first["test loss"][1] {
			t.Errorf("gone %t: the losses are %v, and were %v", gone, all["test loss"], first["test loss"])
		}
	}
}

// TestHistoryJSONIsJSON: a loss that is no number, as that of test rows with NaN is, has no place in a line; a metric's name in any script stays.
func TestHistoryJSONIsJSON(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "h.jsonl")
	play(t, 0, 1, func() train.Job {
		j := job(train.Options{Batch: 50, LogJSON: file})
		j.Metrics = []*nn.Node{nn.Mean(j.Loss.Graph().Node("y")).Named("平均")}
		j.Data = func(context.Context) (rows, test *dataset.Dataset, err error) {
			nan := dataset.FloatValues("x", []float32{float32(math.NaN()), 1}, 1)
			return points(400), dataset.FromColumns(nan, dataset.FloatValues("y", []float32{0, 1}, 1)), nil
		}
		return j
	})
	text, err := os.ReadFile(file)
	law.Check(t, err)
	for line := range bytes.Lines(text) {
		var got map[string]float64
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if _, lost := got["test_loss"]; lost || got["train_loss"] == 0 || got["test_平均"] != 0.5 {
			t.Errorf("want no test loss, and the others: %s", line)
		}
	}
	if !bytes.Contains(text, []byte(`"train_loss"`)) {
		t.Errorf("the file is %q", text)
	}
}
