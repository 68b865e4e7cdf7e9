// Package retrievaltest is the exam of examples that retrieve items.
package retrievaltest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gorgonia.org/tensor"

	"github.com/gofleet/gofleet/examples/internal/jobtest"
	"github.com/gofleet/gofleet/examples/internal/retrieval"
	"github.com/gofleet/gofleet/nn/serve"
)

// Last is the recall@10 that was printed last.
func Last(t *testing.T, said string) (recall float64) {
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

// Saved trains a program on few rows: what is saved finds the items that the job found, queries by the model, items by
// their vectors.
func Saved(t *testing.T, program jobtest.Program) {
	t.Helper()
	dir := t.TempDir()
	_, said := jobtest.Run(t, 1, 2, program, "-rows=2000", "-epochs=1", "-out="+dir)
	index, err := retrieval.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	scorer, err := serve.OpenScorer(filepath.Join(dir, "model"), serve.ScorerOptions{})
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
			item := batch["item"].Int64s()[i]
			if slices.ContainsFunc(top, func(h serve.Hit) bool { return h.ID == item }) {
				hits++
			}
			all++
		}
	}
	if got, want := float64(hits)/float64(all), Last(t, said); got < want-1e-4 || got > want+1e-4 {
		t.Errorf("recall@10 %.4f, the job has %.4f", got, want)
	}
}
