package train_test

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gofleet/gofleet/dataset"
	"github.com/gofleet/gofleet/fleet/train"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer"
	"github.com/gofleet/gofleet/strategy"
)

// dayFormat is that of the lines of days.
var dayFormat = dataset.CSV{Fields: []string{"y", "x", "sample"},
	Schema: []dataset.CSVColumn{{Column: dataset.Floats("y")}, {Column: dataset.Floats("x")}, {Column: dataset.IDs("sample")}}}

// writeDay writes files of a day with so many rows each, of the samples from a number on.
func writeDay(t *testing.T, dir string, first int, rows ...int) {
	t.Helper()
	law.Check(t, os.MkdirAll(dir, 0o777))
	for i, n := range rows {
		var text strings.Builder
		for s := range n {
			x := float32((first+s)%20)/10 - 0.95
			fmt.Fprintf(&text, "%d,%v,%d\n", map[bool]int{true: 1}[x > 0], x, first+s)
		}
		first += n
		law.Check(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("part-%d", i)), []byte(text.String()), 0o666))
	}
	law.Check(t, os.WriteFile(filepath.Join(dir, "_SUCCESS"), nil, 0o666))
}

// dayJob is a job of days below dir, whose ledger counts how often each sample is trained.
func dayJob(dir, mode string, d train.Days) train.Job { // mode is "" of a process alone
	g := nn.NewGraph(1)
	label, x := g.Input("y", 1), g.Input("x", 1)
	pred := nn.Linear(x, 1, nn.LinearOptions{Act: nn.Sigmoid})
	line := nn.Embedding(g.IDs("sample", 1), nn.EmbeddingOptions{Name: "ledger", Dim: 1, Init: optimizer.Constant{}})
	d.Dir = cmp.Or(d.Dir, filepath.Join(dir, "logs"))
	if d.Next != nil {
		d.Dir = ""
	}
	j := train.Job{Loss: nn.Add(nn.Mean(nn.LogLoss(pred, label)), nn.Mean(nn.Custom(countSamples{}, line))),
		Metrics: []*nn.Node{nn.AUCOf(pred, label, 1023).Named("AUC")}, Outputs: []*nn.Node{pred, line},
		Rule:    optimizer.PerParam{Rule: optimizer.SGD{LR: 0.05}, By: map[string]optimizer.Rule{"ledger": optimizer.SGD{LR: 1}}},
		Options: train.Options{Mode: strings.Replace(mode, "collective", "sync", 1), Batch: 8, Checkpoint: filepath.Join(dir, "checkpoints"), Out: filepath.Join(dir, "out")},
		Files:   train.Files{Format: dayFormat}, Days: &d, Stdout: io.Discard}
	s, err := j.Options.Strategy()
	if err != nil {
		panic(err)
	}
	s.WorkerTimeout, s.HeartbeatInterval = strategy.Duration(5*time.Second), strategy.Duration(time.Second)
	if s.StartTimeout = strategy.Duration(time.Minute); mode == "sync" || mode == "collective" {
		s.Weighting = strategy.WeightPushes // a row counts as the one that has it says
	}
	if mode == "geo" {
		s.KSteps = 3
	}
	j.Strategy = &s
	return j
}

// dayLedger is how often each sample counts in what a job has left.
func dayLedger(t *testing.T, dir string) map[int]float64 {
	t.Helper()
	return ledgerOf(t, dir, dayJob(t.TempDir(), "", train.Days{}))
}

func ledgerOf(t *testing.T, dir string, j train.Job) map[int]float64 {
	t.Helper()
	f := leftOf(t, dir, j)
	defer f.Close()
	all := map[int]float64{}
	for row, err := range f.Rows(t.Context(), "ledger") {
		law.Check(t, err)
		all[int(row.ID)] = float64(row.W[0])
	}
	return all
}

// apart says how ledgers differ.
func apart(got, want map[int]float64) string {
	var all []string
	for i := range max(len(got), len(want)) {
		if got[i] != want[i] {
			all = append(all, fmt.Sprintf("%d: %v, want %v", i, got[i], want[i]))
		}
	}
	return fmt.Sprintf("%d others: %s", len(all), strings.Join(all[:min(len(all), 9)], "; "))
}

// once are so many samples, each of which counts once.
func once(n int) map[int]float64 {
	all := map[int]float64{}
	for i := range n {
		all[i] = 1
	}
	return all
}

// TestDaysSayHowTheyTrain: a job of days whose program names no batch takes that of rows of unknown number, and says what serves its model.
func TestDaysSayHowTheyTrain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 400)
	serving := filepath.Join(dir, "serving")
	_, said, err := plays(t, dir, train.Days{Last: "0411", Publish: train.Publish{Dir: serving}}, func(j *train.Job) {
		j.Batch, j.Rule = 0, optimizer.PerParam{Rule: optimizer.Adam{LR: 0.05}, By: map[string]optimizer.Rule{"ledger": optimizer.SGD{LR: 1}}}
	})
	for _, want := range []string{"-batch=512 for rows, whose number is not known", "/examples/serve -model=" + serving + "\n"} {
		if err != nil || !strings.Contains(said, want) {
			t.Errorf("%v: it said\n%s\nwant %q", err, said, want)
		}
	}
}

// TestDays: each kind of job trains each row of each day once, in the order of their names, judges each day before it trains on it, ends a
// period by its name, and ends with the last day. It prints a line about each day behind it, and once more at the end.
func TestDays(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode             string
		servers, workers int
	}{{"", 0, 1}, {"collective", 0, 3}, {"sync", 2, 2}, {"async", 1, 3}, {"half_async", 1, 2}, {"ssp", 1, 2}, {"geo", 1, 2}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			writeDay(t, filepath.Join(dir, "logs", "0411"), 0, 30, 40, 20, 10, 9, 8, 7, 6, 5, 4, 3, 2)
			writeDay(t, filepath.Join(dir, "logs", "0412"), 144, 25)
			writeDay(t, filepath.Join(dir, "logs", "0413"), 169)
			writeDay(t, filepath.Join(dir, "logs", "0414"), 169, 11, 12)
			results, said := play(t, c.servers, c.workers, func() train.Job { return dayJob(dir, c.mode, train.Days{Last: "0414"}) })
			got := dayLedger(t, dir)
			if want := once(192); !maps.Equal(got, want) {
				t.Errorf("the ledger has %s", apart(got, want))
			}
			for i, r := range results {
				var moments []string
				for _, e := range r.History {
					_, judged := e.Values["test AUC"]
					_, constant := e.Values["constant test AUC"]
					moments = append(moments, fmt.Sprint(e.Epoch, e.End, e.Examples, judged, constant))
				}
				want := []string{"1 false 0 true false", "1 true 144 false false", "2 false 144 true true", "2 true 169 false false",
					"3 false 169 false false", "3 true 169 false false", "4 false 169 true true", "4 true 192 false false"}
				if !slices.Equal(moments, want) {
					t.Errorf("worker %d has %q", i, moments)
				}
			}
			if lines := strings.Count(said, "\n0411 "); lines != 2 || strings.Count(said, "\n0413 ") != 2 {
				t.Errorf("it said\n%s", said)
			}
		})
	}
}
