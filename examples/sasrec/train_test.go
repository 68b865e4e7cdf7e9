package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/examples/internal/retrieval"
	"github.com/gofleet/gofleet/nn"
)

// TestRecall trains on generated sequences, alone and on 2 servers and 2 workers.
func TestRecall(t *testing.T) {
	check := func(name string, servers, workers int, args ...string) {
		t.Run(name, func(t *testing.T) {
			_, said := jobtest.Run(t, servers, workers, program, append(args, "-rows=4000", "-epochs=3", "-lr=0.005", "-dim=16", "-out=")...)
			if recall := last(t, said); recall < 0.1 || recall > best() {
				t.Errorf("recall@10 %.4f; worker 0 said\n%s", recall, said)
			}
		})
	}
	check("local", 0, 1)
	check("async", 2, 2, "-mode=async", "-batch=64")
	check("sync", 2, 2, "-mode=sync", "-batch=64")
}

// last is the recall that was printed last.
func last(t *testing.T, said string) (recall float64) {
	t.Helper()
	at := strings.LastIndex(said, "recall@10 ")
	if at < 0 {
		t.Fatalf("no recall in %q", said)
	}
	if _, err := fmt.Sscanf(said[at:], "recall@10 %f", &recall); err != nil {
		t.Fatal(err)
	}
	return recall
}

// TestSaved: what is saved finds the items that the job found: what users have seen by the model, items by their vectors.
func TestSaved(t *testing.T) {
	dir := t.TempDir()
	_, said := jobtest.Run(t, 1, 2, program, "-rows=2000", "-epochs=1", "-out="+dir)
	index, err := retrieval.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	scorer, err := nn.OpenScorer(filepath.Join(dir, "model"), nn.ScorerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobtest.Job(program, "-rows=2000")
	if err != nil {
		t.Fatal(err)
	}
	_, test, err := j.Data(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hits, all := 0, 0
	for batch, err := range test.Batches(200) {
		if err != nil {
			t.Fatal(err)
		}
		feeds := map[string]*tensor.Dense{}
		for _, f := range scorer.Feeds() {
			feeds[f.Name] = batch[f.Name]
		}
		queries, err := scorer.Score(t.Context(), feeds)
		if err != nil {
			t.Fatal(err)
		}
		for i, top := range index.Top(queries.Values[0], 10) {
			if item := batch["item"].Int64s()[i]; slices.ContainsFunc(top, func(h nn.Hit) bool { return h.ID == item }) {
				hits++
			}
			all++
		}
	}
	if got, want := float64(hits)/float64(all), last(t, said); got < want-1e-4 || got > want+1e-4 {
		t.Errorf("recall@10 %.4f, the job has %.4f", got, want)
	}
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-rows=3"}, {"-dim=0"}, {"-mode=often"}} {
		if _, err := jobtest.Job(program, args...); err == nil {
			t.Errorf("%v was taken", args)
		}
	}
}
