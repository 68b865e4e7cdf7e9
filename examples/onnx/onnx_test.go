package main

import (
	"bytes"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofleet/gofleet/nn"
	"github.com/gofleet/gofleet/optimizer/weights"
)

// saved is the directory of a model of two outputs and an embedding.
func saved(t *testing.T) string {
	t.Helper()
	g := nn.NewGraph(1)
	emb := nn.Embedding(g.IDs("ids", 2), nn.EmbeddingOptions{Name: "emb", Dim: 3})
	p := nn.Linear(emb, 1, nn.LinearOptions{}).Named("p")
	q := nn.Sigmoid(p).Named("q")
	dir := filepath.Join(t.TempDir(), "model")
	err := weights.SaveModel(t.Context(), dir, nn.Inference(p, q), weights.Source{
		Arrays: map[string]weights.Array{"fc_0.w_0": {Shape: []int{6, 1}, Values: make([]float32, 6)}, "fc_0.b_0": {Shape: []int{1}, Values: []float32{1}}},
		Rows:   map[string]iter.Seq2[weights.Row, error]{"emb": func(yield func(weights.Row, error) bool) { yield(weights.Row{ID: 7, W: make([]float32, 3)}, nil) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestFlags: each flag acts on the file that is written, or says what is wrong with it.
func TestFlags(t *testing.T) {
	model, out := saved(t), filepath.Join(t.TempDir(), "m.onnx")
	write := func(args ...string) string {
		t.Helper()
		var says bytes.Buffer
		if err := run(append([]string{"-model=" + model, "-out=" + out}, args...), &says); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(says.String(), "wrote "+out) {
			t.Errorf("it says %q", says.String())
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	if all := write(); !strings.Contains(all, "LabelEncoder") || !strings.Contains(all, "Sigmoid") {
		t.Error("the whole model has neither a list of ids nor its second output")
	}
	if rows := write("-rows=emb"); strings.Contains(rows, "LabelEncoder") || !strings.Contains(rows, "ids.emb") {
		t.Error("-rows does nothing")
	}
	if one := write("-outputs=p"); strings.Contains(one, "Sigmoid") {
		t.Error("-outputs does nothing")
	}
	for _, c := range [][2]string{{"-deltas=" + filepath.Join(model, "none"), "delta"}, {"-outputs=r", `has "r"`}, {"-rows=r", `has "r"`},
		{"-model=none", "none"}, {"-out=" + filepath.Join(out, "below"), "below"}, {"more", `unexpected argument "more"`}} {
		args := []string{"-model=" + model, "-out=" + out, c[0]}
		if err := run(args, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%s: %v, want %q", c[0], err, c[1])
		}
	}
}
