package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/internal/law"
	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/nn/serve"
)

// TestFlights trains on a part of the flights, alone and on clusters, and uses the saved model. TestConvergence does so in each mode.
func TestFlights(t *testing.T) {
	law.Slow(t)
	type job struct {
		name             string
		servers, workers int
		args             []string
	}
	for _, c := range law.Some(t, []job{
		{"local", 0, 1, nil},
		{"sync with zstd and HashName", 2, 3, []string{"-mode=sync", "-codec=zstd", "-placement=HashName", "-batch=64"}},
		{"sync with int8", 2, 2, []string{"-mode=sync", "-payload=int8", "-batch=64", "-explain"}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			auc := trained(t, c.servers, c.workers, append([]string{"-rows=40000", "-batch=256", "-layers=64,32", "-out=" + dir}, c.args...))
			if auc < 0.70 {
				t.Errorf("test AUC %.4f", auc)
			}
			checkSaved(t, dir)
		})
	}
}

// TestGoesOn: what one process has learned, a cluster goes on from.
func TestGoesOn(t *testing.T) {
	law.Slow(t)
	dir := t.TempDir()
	small := []string{"-rows=20000", "-layers=32", "-batch=128"}
	alone := trained(t, 0, 1, append([]string{"-out=" + dir}, small...))
	on := trained(t, 3, 2, append([]string{"-out=", "-load=" + filepath.Join(dir, "checkpoint"), "-mode=sync", "-lr=1e-9"}, small...))
	if diff := on - alone; diff > 1e-3 || diff < -1e-3 || alone < 0.65 {
		t.Errorf("alone %.4f, the cluster that goes on without learning %.4f", alone, on)
	}
}

// trained is the test AUC of a job.
func trained(t *testing.T, servers, workers int, args []string) float64 {
	t.Helper()
	first, said := jobtest.Run(t, servers, workers, program, args...)
	if !strings.Contains(said, "test AUC ") {
		t.Errorf("worker 0 said %q", said)
	}
	if explained := strings.Contains(said, "round trips a step"); explained != slices.Contains(args, "-explain") {
		t.Errorf("with %v worker 0 said %q", args, said)
	}
	return first.Last.Values["test AUC"]
}

// checkSaved looks for the checkpoint that a job has saved, loads its model and computes with no fleet.
func checkSaved(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "checkpoint", "manifest.json")); err != nil {
		t.Error(err)
	}
	m, err := serve.Load(filepath.Join(dir, "model"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := parse("-rows=2000")
	if err != nil {
		t.Fatal(err)
	}
	_, test, err := cfg.flights(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exe, h := nn.NewExecutor(m.Graph), nn.NewHistogram()
	for batch, err := range test.Batches(500) {
		if err != nil {
			t.Fatal(err)
		}
		labels := batch["label"].Data().([]float32)
		delete(batch, "label")
		out, err := exe.Eval(t.Context(), batch, m.Outputs...)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range out[0].Data().([]float32) {
			h.Add(p, labels[i] == 1)
		}
	}
	if h.AUC() < 0.65 {
		t.Errorf("the loaded model has AUC %.4f", h.AUC())
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-mode=often"}, {"-preset=none"}, {"-layers=4,x"}, {"-epochs=0"}, {"-rows=-1"}, {"-test=x"},
		{"-format=json"}} {
		if _, err := parse(args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
	c, err := parse("-preset=seed", "-batch=10")
	if err != nil || c.Batch != 10 || len(c.layers) != 3 || c.rule.Name() != "sgd" || c.initRange != 1 {
		t.Errorf("the seed's preset: %+v, %v", c, err)
	}
}

// TestCriteo trains on click logs from files, the test rows in one of their own.
func TestCriteo(t *testing.T) {
	dir := t.TempDir()
	line := func(i int) string { // the first token tells the label
		return fmt.Sprintf("%d%s%s\n", i%2, strings.Repeat("\t3", 13), strings.Repeat(fmt.Sprintf("\tt%d", i%2), 26))
	}
	for name, rows := range map[string]int{"train.tsv": 3000, "test.tsv": 200} {
		var text strings.Builder
		for i := range rows {
			text.WriteString(line(i))
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	auc := trained(t, 1, 2, []string{"-preset=criteo", "-data=" + filepath.Join(dir, "train.tsv"),
		"-test=" + filepath.Join(dir, "test.tsv"), "-layers=16", "-batch=64", "-out="})
	if auc < 0.99 {
		t.Errorf("test AUC %.4f of labels that a token gives away", auc)
	}
}

// TestBadData: what can't be trained on is refused, with a word on what to do.
func TestBadData(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"slots.txt": "click:1 dense_feature:0.5 1:7\n", "nothing.tsv": "", "empty/.hidden": "x"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"slots.txt":   "read as dataset.Criteo",
		"nothing.tsv": "no rows",
		"empty":       "holds no files",
		"none.tsv":    "none.tsv",
	} {
		j, err := jobtest.Job(program, "-data="+filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := j.Files.Load(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

// parse is what a command line chooses.
func parse(args ...string) (*config, error) {
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	c := newConfig(fs)
	c.Register(fs)
	err := fs.Parse(args)
	_, files := c.files()
	return c, errors.Join(err, files, c.Check(), c.check())
}
